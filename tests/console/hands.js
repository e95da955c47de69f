// What the walk of a keyboard sees of a page: the focus, whether it shows, and all controls.
(() => {
  const controls = 'a[href], button, input:not([type=hidden]), select, textarea, ' +
    'summary, [tabindex], [contenteditable=true]';
  const parts = ['outlineStyle', 'outlineWidth', 'outlineColor', 'boxShadow', 'clipPath',
    'borderColor', 'backgroundColor', 'textDecorationLine'];
  const lookOf = each => {
    const style = getComputedStyle(each);
    return parts.map(name => style[name]).join() +
      (style.outlineStyle === 'none' ? '' : style.outlineOffset);
  };
  // what surrounds a field or follows a hidden radio button may show its focus
  const around = each => [each, each.parentElement, each.parentElement?.parentElement,
    each.nextElementSibling].filter(Boolean).map(lookOf).join('|');
  const isShown = each => {
    const boxes = [each, each.nextElementSibling].filter(Boolean)
      .map(one => one.getBoundingClientRect());
    return boxes.some(box => box.width > 1 && box.height > 1 &&
      box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth);
  };
  const nameOf = each => {
    const by = document.getElementById(each.getAttribute('aria-labelledby'));
    const labels = [...(each.labels || [])].map(label => label.innerText).join();
    const text = by?.innerText || each.getAttribute('aria-label') || labels || each.innerText;
    return `${each.tagName.toLowerCase()} ${(text || each.id || '').trim().slice(0, 60)}`;
  };
  const numbers = new WeakMap();
  let count = 0;
  const numberOf = each => {
    if (!numbers.has(each)) numbers.set(each, count += 1);
    return numbers.get(each);
  };
  let before = new WeakMap();
  const remember = () => {
    const found = new WeakMap();
    for (const each of document.querySelectorAll(controls)) {
      const isFocused = each === document.activeElement;
      const look = isFocused ? before.get(each) : around(each);
      if (look !== undefined) found.set(each, look);
    }
    before = found;
  };
  window.walked = {
    remember,
    stop: () => {
      const each = document.activeElement;
      const isEdge = !each || each === document.body || each === document.documentElement;
      const known = isEdge ? undefined : before.get(each);
      const result = isEdge ? {number: 0, name: 'the edge of the page'} : {
        number: numberOf(each), name: nameOf(each), isShown: isShown(each),
        isSeen: known === undefined || known !== around(each),
        isSkip: each.classList.contains('skip'),
        isFirst: each === document.querySelector(controls),
      };
      remember();
      return result;
    },
    // an editor changes its look a moment after the focus: here it is waited for, both ways
    isSeenAgain: async () => {
      const each = document.activeElement;
      const moment = () => new Promise(done => setTimeout(done, 100));
      each.blur();
      await moment();
      const plain = around(each);
      each.focus();
      await moment();
      return plain !== around(each);
    },
    numberOf,
    nameOf,
    // the controls that a person sees and can use, with one for each group of radio buttons
    wanted: () => {
      const groups = new Set();
      return [...document.querySelectorAll(controls)].filter(each => {
        if (each.matches('[tabindex="-1"]:not(a, button, input, select, textarea, summary)'))
          return false;
        if (each.disabled || !each.checkVisibility({visibilityProperty: true})) return false;
        if (each.closest('.cm-editor') && !each.matches('.cm-content')) return false;
        if (each.type !== 'radio') return true;
        const group = document.getElementsByName(each.name);
        const chosen = [...group].some(one => one.checked);
        if (chosen ? !each.checked : groups.has(each.name)) return false;
        groups.add(each.name);
        return true;
      }).map(each => [numberOf(each), nameOf(each)]);
    },
  };
  remember();
})()
