// Defines the elements as a page without a bundler does.

import "/pkg/dist/elements.js";
