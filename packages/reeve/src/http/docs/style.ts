/**
 * Stylesheet of the documentation pages, with the tokens of the web UI
 * (packages/web/src/style/tokens.css).
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --font: system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', monospace;
  --page: light-dark(#f6f7f9, #14171b);
  --surface: light-dark(#ffffff, #1b1f25);
  --sunken: light-dark(#eef0f3, #101317);
  --line: light-dark(#dde1e7, #2e343d);
  --text: light-dark(#1c2430, #e4e8ee);
  --quiet: light-dark(#56616f, #a3aebb);
  --accent: light-dark(#1b5f92, #78b6ea);
  --accent-soft: light-dark(#e3eef8, #1d3245);
  --focus: light-dark(#0b69c7, #8ec5ff);
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.6 var(--font) }
a { color: var(--accent) }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }
.skip { position: absolute; left: -999px }
.skip:focus { left: 8px; top: 8px; background: var(--surface); padding: 8px }
header { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; min-height: 48px;
  padding: 8px 24px; background: var(--surface); border-bottom: 1px solid var(--line) }
header a { text-decoration: none }
.brand { font-weight: 600; color: var(--text) }
header form { flex: 1; max-width: 420px; margin-left: auto }
input { width: 100%; padding: 6px 12px; font: inherit; color: inherit; background: var(--sunken);
  border: 1px solid var(--line); border-radius: 6px }
.columns { display: grid; grid-template-columns: 264px minmax(0, 1fr); max-width: 1320px }
nav { padding: 16px 8px 32px 24px; font-size: 14px }
summary { cursor: pointer; font-weight: 600; padding: 4px 0 }
nav ul { list-style: none; margin: 0 0 8px; padding-left: 12px }
nav li a { display: block; padding: 2px 8px; border-radius: 6px; color: var(--quiet);
  text-decoration: none; overflow-wrap: anywhere }
nav li a:hover { color: var(--text) }
nav [aria-current] { background: var(--accent-soft); color: var(--accent) }
main { margin: 16px 24px 48px; padding: 8px 32px 32px; background: var(--surface);
  border: 1px solid var(--line); border-radius: 6px }
h1, h2, h3 { line-height: 1.25; margin: 1.6em 0 .6em }
h1 { font-size: 26px } h2 { font-size: 20px } h3 { font-size: 16px }
h1 a, h2 a, h3 a { color: inherit; text-decoration: none }
code, pre { font: 13px/1.5 var(--mono) }
code { background: var(--sunken); border-radius: 4px; padding: 1px 4px; overflow-wrap: anywhere }
pre { background: var(--sunken); border: 1px solid var(--line); border-radius: 6px; padding: 12px;
  overflow-x: auto }
pre code { padding: 0; background: none; overflow-wrap: normal }
.table { overflow-x: auto }
table { border-collapse: collapse; margin: 12px 0 }
td, th { border-bottom: 1px solid var(--line); padding: 6px 12px 6px 0; text-align: left;
  vertical-align: top }
img { max-width: 100%; border: 1px solid var(--line); border-radius: 6px }
.results p { margin: 0 0 12px; color: var(--quiet) }
@media (max-width: 800px) {
  .columns { display: block }
  nav { padding: 8px 24px }
  main { margin: 0 0 32px; padding: 8px 16px; border-width: 1px 0; border-radius: 0 }
}
`
