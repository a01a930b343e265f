import type { Route } from '@reeve/contract'
import { compare } from './schema-components.ts'

/**
 * The public interface as text: for each route its methods and path, the parameters, the body, the
 * responses by status, and what the caller needs. The text is committed, so that a change of the
 * interface shows in review; the whole OpenAPI document would be too long to read.
 */
export function routeSignatures(routes: readonly Route[]): string {
  const sorted = routes.toSorted((a, b) => compare(a.path, b.path) || compare(a.id, b.id))
  return sorted.map((route) => `${signatureLines(route).join('\n  ')}\n`).join('')
}

function signatureLines(route: Route): readonly string[] {
  const required = new Set<string>(route.query?.required)
  const query = Object.keys(route.query?.properties ?? {})
  const body = route.body === undefined ? [] : [`body ${bodyText(route)}`]
  const kinds = [
    ...(route.blocking === true ? ['blocking'] : []),
    ...(route.streams === true ? ['streams'] : []),
  ]
  return [
    `${route.methods.join('|')} ${route.path} ${[route.id, ...kinds].join(' ')}`,
    ...(query.length === 0
      ? []
      : [`query ${query.map((name) => (required.has(name) ? `${name}!` : name)).join(' ')}`]),
    ...body,
    `responses ${responsesText(route)}`,
    `needs ${route.needs}`,
  ]
}

function bodyText({ body, bodyType }: Route): string {
  return [body === undefined ? '' : nameOf(body), bodyType].filter(Boolean).join(' ') || 'inline'
}

function responsesText({ answers }: Route): string {
  const texts = Object.entries(answers).map(([status, { schema }]) => {
    const name = schema === undefined || Number(status) >= 400 ? '' : nameOf(schema)
    return name === '' ? status : `${status}:${name}`
  })
  return texts.join(' ')
}

/** Returns the name of a schema; `Name[]` for a list of named schemas. */
function nameOf(schema: object): string {
  const id: unknown = Reflect.get(schema, '$id')
  if (typeof id === 'string') return id
  const items: unknown = Reflect.get(schema, 'items')
  const ofItem = typeof items === 'object' && items !== null ? nameOf(items) : ''
  return ofItem === '' ? '' : `${ofItem}[]`
}
