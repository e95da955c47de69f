// Behaviour of the screen Assure: a file that is chosen is read into the field for its text.

(() => {
  const input = document.querySelector('[data-reads-into]');
  if (!input) return;
  const field = document.getElementById(input.dataset.readsInto);

  input.addEventListener('change', async () => {
    const [file] = input.files;
    if (!file) return;
    document.getElementById('checked').replaceChildren();
    field.value = await file.text();
  });
  field.addEventListener('input', () => { input.value = ''; }); // the text is not the file's
})();
