import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Route } from '@reeve/contract'
import { Manual, type ManualPage, type Section } from './manual.ts'
import { escapeHtml } from './markdown-text.ts'
import { openApiDocument } from './openapi.ts'

/** Allows resources of this server only, and no scripts. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface DocsOptions {
  readonly routes: readonly Route[]
  readonly version: string
  /** Folder of the Markdown files; without it there are no pages. */
  readonly folder: string | undefined
}

/** Serves the documentation below `/docs`, with search, and the OpenAPI document. */
export function mountDocs(app: FastifyInstance, { routes, version, folder }: DocsOptions): void {
  // Created on first use, so that they do not slow down the start of a server.
  let document: string | undefined
  let manual: Promise<Manual> | undefined
  const load = (): Promise<Manual> => (manual ??= openManual(folder))
  app.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(openApiDocument(routes, version))
    return reply.type('application/json').send(document)
  })
  app.get('/docs', async (_request, reply) => sendPage(reply, await load(), ''))
  app.get('/docs/search', async ({ url }, reply) => {
    const query = new URL(url, 'http://localhost').searchParams.get('q') ?? ''
    return sendHtml(reply, searchPage(await load(), query))
  })
  app.get('/docs/*', async ({ url }, reply) => {
    const path = pagePathOf(url)
    const pages = await load()
    const image = pages.images.get(path)
    return image === undefined ? sendPage(reply, pages, path) : reply.type('image/png').send(image)
  })
}

/** Loads the renderer with the pages: no other request needs it. */
async function openManual(folder: string | undefined): Promise<Manual> {
  const { renderMarkdown } = await import('./markdown.ts')
  return new Manual(folder ?? '', renderMarkdown)
}

function pagePathOf(url: string): string {
  return new URL(url, 'http://localhost').pathname.slice('/docs/'.length).replace(/\/$/, '')
}

function sendPage(reply: FastifyReply, manual: Manual, path: string): FastifyReply {
  const page = manual.pages.get(path)
  if (page !== undefined) return sendHtml(reply, manualPage(manual, page))
  return sendHtml(reply.code(404), missingPage(manual))
}

function sendHtml(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', CONTENT_SECURITY_POLICY)
    .send(html)
}

/** The folders of the documentation in the order of the navigation. */
const NAVIGATION_FOLDERS = [
  ['tutorials', 'Tutorials'],
  ['how-to', 'How-to guides'],
  ['reference', 'Reference'],
  ['explanation', 'Explanation'],
  ['contributing', 'Contributing'],
] as const

const EXCERPT_CHARACTERS = 160

/** A page of the documentation with navigation and search. */
function manualPage(manual: Manual, page: ManualPage): string {
  return layout(manual, { title: page.title, path: page.path, body: manual.html(page) })
}

/** Returns the page with the results of a search. */
function searchPage(manual: Manual, query: string): string {
  const results = manual.search(query)
  const items = results.map(
    (section) => `<li><a href="${sectionHref(section)}">${escapeHtml(titleText(section))}</a>
<p>${escapeHtml(section.text.trim().slice(0, EXCERPT_CHARACTERS))}</p></li>`,
  )
  const count = results.length === 0 ? 'No results.' : ''
  const body = `<h1>Search: ${escapeHtml(query)}</h1><p>${count}</p><ol class="results">${items.join('')}</ol>`
  return layout(manual, { title: 'Search', path: undefined, query, body })
}

/** Returns the page for an unknown path. */
function missingPage(manual: Manual): string {
  const body = '<h1>Page not found</h1><p>Use the navigation, or search for what you need.</p>'
  return layout(manual, { title: 'Page not found', path: undefined, body })
}

function sectionHref({ path, anchor }: Section): string {
  return escapeHtml(`/docs${path === '' ? '' : `/${path}`}${anchor === '' ? '' : `#${anchor}`}`)
}

function titleText({ title, pageTitle }: Section): string {
  return title === pageTitle ? title : `${title} · ${pageTitle}`
}

interface Content {
  readonly title: string
  /** Undefined on pages that are not part of the documentation. */
  readonly path: string | undefined
  readonly query?: string
  readonly body: string
}

function layout(manual: Manual, { title, path, query = '', body }: Content): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Reeve</title><style>${STYLE}</style></head><body>
<a class="skip" href="#content">Skip to content</a>
<header><a class="brand" href="/ui/">Reeve</a><a href="/docs">Documentation</a>
<form action="/docs/search" role="search"><input type="search" name="q" maxlength="200"
aria-label="Search the documentation" placeholder="Search" value="${escapeHtml(query)}"></form>
<a href="/openapi.json">OpenAPI</a></header>
<div class="columns"><nav aria-label="Documentation">${navigation(manual, path)}</nav>
<main id="content">${body}</main></div></body></html>`
}

function navigation(manual: Manual, path: string | undefined): string {
  const single = [...manual.pages.values()]
    .filter((page) => page.path !== '' && !page.path.includes('/'))
    .map((page) => navigationItem(manual, page, path))
  const folders = NAVIGATION_FOLDERS.map(([folder, title]) => {
    const isOpen = path === '' || path?.startsWith(folder) === true
    const items = childrenOf(manual, folder).map((page) => navigationItem(manual, page, path))
    return `<details${isOpen ? ' open' : ''}><summary>${title}</summary><ul>${items.join('')}</ul></details>`
  })
  return folders.join('') + (single.length === 0 ? '' : `<ul>${single.join('')}</ul>`)
}

function navigationItem(manual: Manual, page: ManualPage, path: string | undefined): string {
  const isCurrent = page.path === path
  const link = `<a href="/docs/${escapeHtml(page.path)}"${isCurrent ? ' aria-current="page"' : ''}>${escapeHtml(page.title)}</a>`
  const isExpanded = isCurrent || path?.startsWith(`${page.path}/`) === true
  const children = isExpanded ? childrenOf(manual, page.path) : []
  if (children.length === 0) return `<li>${link}</li>`
  const items = children.map((one) => navigationItem(manual, one, path))
  return `<li>${link}<ul>${items.join('')}</ul></li>`
}

/** Returns the pages directly in a folder, sorted by title. */
function childrenOf(manual: Manual, folder: string): readonly ManualPage[] {
  const depth = folder.split('/').length + 1
  return [...manual.pages.values()]
    .filter(({ path }) => path.startsWith(`${folder}/`) && path.split('/').length === depth)
    .toSorted((a, b) => (a.title < b.title ? -1 : a.title > b.title ? 1 : 0))
}

/**
 * Stylesheet of the documentation pages, with the tokens of the web UI
 * (packages/web/src/style/tokens.css).
 */
const STYLE = `
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
