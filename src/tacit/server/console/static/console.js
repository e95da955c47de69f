// Behaviour of the console's pages that neither htmx nor the stylesheet gives: nothing yet.
//
// The policy of the console allows scripts from its own files only, so that code stands here and
// never in a page: no inline script, no on... attribute, no eval.
