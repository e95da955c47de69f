// Behaviour of the screens Ask and Answers.
//
// - While people type, the price that is shown is old: it is greyed, and its button rests.
// - A question is sent once, and the button says that it runs.
// - Buttons with data-copies="ID" copy the text of an element.

(() => {
  const quote = document.getElementById('quote');
  const form = document.getElementById('question');
  let typed = 0; // how often something was typed, and what the last request had seen of it
  let sent = 0;

  /** Says whether the price that is shown is that of another question. */
  function setOld(isOld) {
    if (!quote) return;
    quote.classList.toggle('is-old', isOld);
    const button = document.getElementById('ask-button');
    if (button) button.disabled = isOld;
  }

  function onTyping(event) {
    if (!['sql', 'error', 'delta', 'choice'].includes(event.target.name)) return;
    typed += 1;
    setOld(true);
  }

  /** Shows that the question runs; a second click sends nothing. */
  function onSubmit(event) {
    const button = event.submitter;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    if (button?.id !== 'ask-button') return;
    form.dataset.sent = 'yes';
    button.setAttribute('aria-disabled', 'true');
    button.classList.add('is-running');
    document.getElementById('ask-note').textContent = button.dataset.running;
  }

  async function copy(button) {
    const source = document.getElementById(button.dataset.copies);
    const address = source.dataset.address;
    const text = address ? new URL(address, location.href).href : source.textContent;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = before; }, 1500);
    } catch {
      source.closest('details').open = true; // a page without TLS cannot copy: select it
      getSelection().selectAllChildren(source);
      source.focus();
    }
  }

  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-copies]');
    if (button) copy(button);
  });
  if (!form) return;
  form.addEventListener('input', onTyping);
  form.addEventListener('submit', onSubmit);
  document.addEventListener('htmx:beforeRequest', () => { sent = typed; });
  document.addEventListener('htmx:afterSettle', () => setOld(sent !== typed));
  document.addEventListener('htmx:sendError', () => {
    quote.classList.remove('is-old');
    document.getElementById('question-foot').textContent =
      'The server was not reached. The price is that of an earlier question.';
  });
  window.addEventListener('pageshow', () => { delete form.dataset.sent; });
})();
