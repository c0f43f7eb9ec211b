// Commands worth trying, offered as buttons.

export const examples = [
  { label: "Say hello", command: 'echo "hello from $(uname -s), as $(whoami)"' },
  { label: "Stream for 3 seconds", command: 'for i in 1 2 3 4 5 6; do echo "step $i of 6"; sleep 0.5; done' },
  { label: "Fail", command: 'echo "looking for the answer"; echo "no answer in here" >&2; exit 3' },
  {
    label: "Colours and Unicode",
    command: String.raw`printf '\e[1;32m✔ green\e[0m  \e[33myellow\e[0m  \e[4munderlined\e[0m  ünïcödé 漢字 🦀\n'`,
  },
  { label: "Raw bytes", command: String.raw`printf 'not text: \000 \001 \377 \376, and on\n'` },
  { label: "Print 2 MB", command: "yes 'a line among very many lines' | head -c 2000000" },
  { label: "Run greet.sh", command: "bash greet.sh" },
];
