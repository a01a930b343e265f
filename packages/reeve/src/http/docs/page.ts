import type { Route } from '@reeve/contract'

/**
 * The API as one page that needs no network: every route with its parameters, needs and answers.
 */
export function docsPage(routes: readonly Route[], version: string): string {
  const sections = [...Map.groupBy(routes, (route) => route.section)]
  const links = sections.map(
    ([section]) => `<li><a href="#${slug(section)}">${escape(section)}</a></li>`,
  )
  const parts = sections.map(([section, ofSection]) => renderSection(section, ofSection))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Reeve API</title><style>${STYLE}</style></head><body>
<header><h1>Reeve API</h1><p>Version ${escape(version)}. The same as
<a href="/openapi.json">OpenAPI 3.1</a>. Tokens go in <code>X-Service-Token</code> or
<code>Authorization: Bearer</code>.</p></header>
<nav aria-label="Sections"><ul>${links.join('')}</ul></nav>
<main>${parts.join('\n')}</main></body></html>`
}

function renderSection(section: string, routes: readonly Route[]): string {
  return `<section id="${slug(section)}"><h2>${escape(section)}</h2>${routes.map(renderRoute).join('\n')}</section>`
}

function renderRoute(route: Route): string {
  const query = Object.entries(route.query?.properties ?? {}).map(([name, schema]) => [
    `<code>${escape(name)}</code>`,
    escape(textOf(schema, 'type')),
    escape(textOf(schema, 'description')),
  ])
  const answers = Object.entries(route.answers).map(([status, answer]) => [
    status,
    escape(answer.description),
    answer.schema === undefined ? '' : `<code>${escape(textOf(answer.schema, '$id'))}</code>`,
  ])
  const blocking = route.blocking === true ? ' · blocking queries' : ''
  const body =
    route.body === undefined
      ? ''
      : `<p>Body: <code>${escape(textOf(route.body, '$id') || 'JSON')}</code></p>`
  return `<details id="${route.id}"><summary><b>${route.methods.join(' / ')}</b>
<code>${escape(route.path)}</code> ${escape(route.summary)}</summary>
<p>Needs: ${escape(route.needs)}${blocking}</p>${body}
${table(['Parameter', 'Type', 'Meaning'], query)}${table(['Status', 'When', 'Body'], answers)}</details>`
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join('')
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`
}

function textOf(schema: object, name: string): string {
  const value: unknown = Reflect.get(schema, name)
  return typeof value === 'string' ? value : ''
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem }
nav ul { columns: 3; padding-left: 1rem }
summary { cursor: pointer; padding: .3rem 0 }
table { border-collapse: collapse; margin: .5rem 0 1rem; width: 100% }
td, th { border-bottom: 1px solid #8884; padding: .25rem .5rem; text-align: left; vertical-align: top }
code { font: 14px ui-monospace, monospace }
details { border-bottom: 1px solid #8883 }
`
