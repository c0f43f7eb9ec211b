// The endpoints of the group of agents, as data: how each is called here, its id, its method and its path. A name in braces is an
// argument; what comes after the arguments is the body, or for `GET` and `DELETE` the query.

const SESSION = "/v1/agents/sessions/{sessionId}";
const TEMPLATE = "/v1/agents/environments/templates/{templateId}";
const ENVIRONMENT = "/v1/agents/environments/{environmentId}";
const SUBAGENT = `${SESSION}/subagents/{subagentId}`;
const VAULT = "/v1/vaults/{vaultId}";
const CREDENTIAL = `${VAULT}/credentials/{credentialId}`;
const WEBHOOK = "/v1/webhook_endpoints/{webhookId}";
const RESPONSE = "/v1/responses/{responseId}";

export const ROUTES = [
  ["definitions.create", "agents_definitions_create", "POST", "/v1/agents"],
  ["definitions.list", "agents_definitions_list", "GET", "/v1/agents"],
  ["definitions.get", "agents_definitions_get", "GET", "/v1/agents/{agentId}"],
  ["definitions.update", "agents_definitions_update", "POST", "/v1/agents/{agentId}"],
  ["definitions.delete", "agents_definitions_delete", "DELETE", "/v1/agents/{agentId}"],

  ["sessions.create", "agents_sessions_create", "POST", "/v1/agents/sessions"],
  ["sessions.list", "agents_sessions_list", "GET", "/v1/agents/sessions"],
  ["sessions.get", "agents_sessions_get", "GET", SESSION],
  ["sessions.update", "agents_sessions_update", "POST", SESSION],
  ["sessions.delete", "agents_sessions_delete", "DELETE", SESSION],
  ["sessions.send", "agents_sessions_events_create", "POST", `${SESSION}/events`],
  ["sessions.items", "agents_sessions_items_list", "GET", `${SESSION}/items`],
  ["sessions.turns.list", "agents_sessions_turns_list", "GET", `${SESSION}/turns`],
  ["sessions.turns.get", "agents_sessions_turns_get", "GET", `${SESSION}/turns/{turnId}`],
  ["sessions.turns.items", "agents_sessions_turns_items_list", "GET", `${SESSION}/turns/{turnId}/items`],
  ["sessions.artifacts.list", "agents_artifacts_list", "GET", `${SESSION}/artifacts`],
  ["sessions.artifacts.get", "agents_artifacts_get", "GET", `${SESSION}/artifacts/{artifactId}`],
  ["sessions.artifacts.delete", "agents_artifacts_delete", "DELETE", `${SESSION}/artifacts/{artifactId}`],
  ["sessions.traces", "agents_traces_list", "GET", `${SESSION}/traces`],
  ["sessions.subagents.list", "agents_subagents_list", "GET", `${SESSION}/subagents`],
  ["sessions.subagents.get", "agents_subagents_get", "GET", SUBAGENT],
  ["sessions.subagents.items", "agents_subagents_items_list", "GET", `${SUBAGENT}/items`],
  ["sessions.subagents.turns.list", "agents_subagents_turns_list", "GET", `${SUBAGENT}/turns`],
  ["sessions.subagents.turns.get", "agents_subagents_turns_get", "GET", `${SUBAGENT}/turns/{turnId}`],
  ["sessions.subagents.turns.items", "agents_subagents_turns_items_list", "GET", `${SUBAGENT}/turns/{turnId}/items`],

  ["runtimes.list", "agents_runtimes_list", "GET", "/v1/agents/runtimes"],
  ["models.list", "agents_models_list", "GET", "/v1/models"],
  ["models.get", "agents_models_get", "GET", "/v1/models/{model}"],
  ["models.delete", "agents_cannot_models_delete", "DELETE", "/v1/models/{model}"],

  ["environments.create", "agents_environments_create", "POST", "/v1/agents/environments"],
  ["environments.list", "agents_environments_list", "GET", "/v1/agents/environments"],
  ["environments.get", "agents_environments_get", "GET", ENVIRONMENT],
  ["environments.files.create", "agents_environment_files_create", "POST", `${ENVIRONMENT}/files`],
  ["environments.files.list", "agents_environment_files_list", "GET", `${ENVIRONMENT}/files`],
  ["environments.register", "agents_cannot_executor_registration", "POST", `${ENVIRONMENT}/register`],
  ["environments.connect", "agents_cannot_executor_channel", "GET", `${ENVIRONMENT}/connect`],
  ["environments.templates.create", "agents_environment_templates_create", "POST", "/v1/agents/environments/templates"],
  ["environments.templates.list", "agents_environment_templates_list", "GET", "/v1/agents/environments/templates"],
  ["environments.templates.get", "agents_environment_templates_get", "GET", TEMPLATE],
  ["environments.templates.update", "agents_environment_templates_update", "POST", TEMPLATE],
  ["environments.templates.delete", "agents_environment_templates_delete", "DELETE", TEMPLATE],

  ["vaults.create", "agents_vaults_create", "POST", "/v1/vaults"],
  ["vaults.list", "agents_vaults_list", "GET", "/v1/vaults"],
  ["vaults.get", "agents_vaults_get", "GET", VAULT],
  ["vaults.update", "agents_vaults_update", "POST", VAULT],
  ["vaults.delete", "agents_vaults_delete", "DELETE", VAULT],
  ["vaults.credentials.create", "agents_vault_credentials_create", "POST", `${VAULT}/credentials`],
  ["vaults.credentials.list", "agents_vault_credentials_list", "GET", `${VAULT}/credentials`],
  ["vaults.credentials.get", "agents_vault_credentials_get", "GET", CREDENTIAL],
  ["vaults.credentials.update", "agents_vault_credentials_update", "POST", CREDENTIAL],
  ["vaults.credentials.delete", "agents_vault_credentials_delete", "DELETE", CREDENTIAL],

  ["responses.create", "agents_responses_create", "POST", "/v1/responses"],
  ["responses.get", "agents_responses_get", "GET", RESPONSE],
  ["responses.delete", "agents_responses_delete", "DELETE", RESPONSE],
  ["responses.cancel", "agents_responses_cancel", "POST", `${RESPONSE}/cancel`],
  ["responses.inputItems", "agents_responses_input_items", "GET", `${RESPONSE}/input_items`],
  ["responses.inputTokens", "agents_cannot_responses_input_tokens", "POST", "/v1/responses/input_tokens"],
  ["responses.compact", "agents_responses_compact", "POST", "/v1/responses/compact"],

  ["files.create", "agents_files_create", "POST", "/v1/files"],

  ["webhooks.create", "agents_webhooks_create", "POST", "/v1/webhook_endpoints"],
  ["webhooks.list", "agents_webhooks_list", "GET", "/v1/webhook_endpoints"],
  ["webhooks.get", "agents_webhooks_get", "GET", WEBHOOK],
  ["webhooks.update", "agents_webhooks_update", "POST", WEBHOOK],
  ["webhooks.delete", "agents_webhooks_delete", "DELETE", WEBHOOK],
  ["webhooks.rotateSecret", "agents_webhooks_rotate_secret", "POST", `${WEBHOOK}/rotate_secret`],
  ["webhooks.test", "agents_webhooks_test", "POST", `${WEBHOOK}/test`],
  ["webhooks.eventTypes", "agents_webhook_event_types", "GET", "/v1/webhook_event_types"],
];
