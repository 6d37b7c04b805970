// Tables that sort by a click on a head and download as CSV.
const number = (text) => parseFloat(text.replace('−', '-').replaceAll('\u202f', ''));

function compare(a, b) {
  const difference = number(a) - number(b);
  return Number.isNaN(difference) ? a.localeCompare(b) : difference;
}

function sortBy(table, column, head) {
  const up = head.getAttribute('aria-sort') !== 'ascending';
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const rows = [...table.tBodies[0].rows];
  const text = (row) => row.cells[column].textContent;
  rows.sort((a, b) => (up ? 1 : -1) * compare(text(a), text(b)));
  table.tBodies[0].append(...rows);
}

const quoted = (cell) => `"${cell.textContent.replaceAll('"', '""')}"`;

function download(table, name) {
  const csv = [...table.rows].map((row) => [...row.cells].map(quoted).join(',')).join('\r\n');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([csv], { type: 'text/csv' }));
  link.download = `${name}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function enhanceTables() {
  for (const table of document.querySelectorAll('.scroll table')) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.onclick = () => sortBy(table, column, head);
    });
    const button = Object.assign(document.createElement('button'), { textContent: 'CSV', className: 'quiet' });
    const card = table.closest('.card');
    button.onclick = () => download(table, card.querySelector('h2').textContent.toLowerCase().replace(/\W+/g, '_'));
    card.querySelector('h2').append(button);
  }
}
