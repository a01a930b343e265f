import { escapeHtml } from './escape.ts'
import type { Manual, ManualPage } from './manual.ts'
import type { Section } from './search.ts'
import { STYLE } from './style.ts'

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
export function manualPage(manual: Manual, page: ManualPage): string {
  return layout(manual, { title: page.title, path: page.path, body: manual.html(page) })
}

/** Returns the page with the results of a search. */
export function searchPage(manual: Manual, query: string): string {
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
export function missingPage(manual: Manual): string {
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
