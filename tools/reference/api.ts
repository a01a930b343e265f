import { v1Routes, v2, type RouteResponse, type Route } from '@reeve/contract'
import { anchor, code, fence, page, sentence, table, withPart, type Pages } from './page.ts'
import {
  asSchema,
  asArray,
  exampleJson,
  type Schema,
  fieldTable,
  NamedSchemas,
  TYPES_PAGE,
  typeText,
} from './schema-table.ts'

const FOLDER = 'docs/reference/api'
export const API_INDEX = `${FOLDER}/README.md`

/** One page for each section of the contract, one with all named types, and the list of routes. */
export function apiPages(index: string): Pages {
  const routes: readonly Route[] = [...Object.values(v1Routes), ...Object.values(v2.v2Routes)]
  const types = new NamedSchemas()
  const common = commonParts(routes)
  const sections = Map.groupBy(routes, pageName)
  const pages = new Map(
    [...sections].map(([name, members]) => [
      `${FOLDER}/${name}.md`,
      sectionPage(members, { types, common }),
    ]),
  )
  pages.set(`${FOLDER}/${TYPES_PAGE}`, typesPage(types))
  const withParameters = withPart(index, 'common parameters', commonTable(common.parameters))
  const withErrors = withPart(withParameters, 'common errors', commonTable(common.errors))
  return pages.set(API_INDEX, withPart(withErrors, 'routes', routeList(sections)))
}

/** Rows of tables that many routes share, described once in the index page. */
interface CommonParts {
  readonly parameters: ReadonlyMap<string, readonly string[]>
  readonly errors: ReadonlyMap<string, readonly string[]>
}

interface PageContext {
  readonly types: NamedSchemas
  readonly common: CommonParts
}

/** A row that at least so many routes have is common. */
const COMMON_ROUTES = 25

function commonParts(routes: readonly Route[]): CommonParts {
  return {
    parameters: repeatedRows(routes.flatMap(({ query }) => parameters('query', asSchema(query)))),
    errors: repeatedRows(routes.flatMap(errorRows)),
  }
}

function repeatedRows(
  rows: readonly (readonly string[])[],
): ReadonlyMap<string, readonly string[]> {
  const counts = Map.groupBy(rows, (row) => row.join('\n'))
  const many = [...counts].flatMap(([key, [row, ...others]]) =>
    row !== undefined && others.length + 1 >= COMMON_ROUTES ? [[key, row] as const] : [],
  )
  return new Map(many.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function commonTable(rows: ReadonlyMap<string, readonly string[]>): string {
  const [first] = rows.values()
  const head = first?.length === 4 ? PARAMETER_HEADINGS : RESPONSE_HEADINGS
  return table(head, [...rows.values()])
}

const PARAMETER_HEADINGS = ['Parameter', 'In', 'Type', 'Description']
const RESPONSE_HEADINGS = ['Status', 'Body', 'When']

/** Both APIs have sections of the same name. */
function pageName(route: Route): string {
  const section = anchor(route.section).replaceAll(/-+/g, '-')
  return isGovernance(route) ? `governance-${section}` : section
}

function isGovernance({ path }: Route): boolean {
  return path.startsWith('/api/v2')
}

function sectionPage(routes: readonly Route[], writing: PageContext): string {
  const [first] = routes
  if (first === undefined) throw new Error('a section without routes')
  const api = isGovernance(first)
    ? 'Governance API (JSON:API, `application/vnd.api+json`)'
    : 'Workload API (JSON)'
  return page(first.section, [
    `${api}. See [the API](README.md) for authentication, errors, pages and blocking queries.`,
    ...routes.flatMap((route) => routeSection(route, writing)),
  ])
}

function routeSection(route: Route, { types, common }: PageContext): readonly string[] {
  return [
    `## ${headingOf(route)}`,
    fence('text', route.methods.map((method) => `${method} ${route.path}`).join('\n')),
    requirementText(route),
    ...parameterSection(route, common),
    ...bodySection(route, types),
    ...responseSection(route, { types, common }),
  ]
}

/** The operation, which is unique; the summary may not be. */
function headingOf({ id }: Route): string {
  return id
}

function requirementText({ summary, needs, blocking, streams }: Route): string {
  return [
    sentence(summary),
    needs === 'none' ? 'Needs no token.' : `Needs ${needs.replace(/\.$/, '')}.`,
    ...(blocking === true ? ['Supports blocking queries.'] : []),
    ...(streams === true ? ['The response is a stream.'] : []),
  ].join(' ')
}

function parameterSection(route: Route, common: CommonParts): readonly string[] {
  const rows = parameterRows(route)
  const isCommon = (row: readonly string[]) => common.parameters.has(row.join('\n'))
  const names = rows.filter(isCommon).map(([name = '']) => name)
  return [
    table(
      PARAMETER_HEADINGS,
      rows.filter((row) => !isCommon(row)),
    ),
    names.length === 0
      ? ''
      : `[Common parameters](README.md#common-parameters): ${names.join(', ')}.`,
  ]
}

function parameterRows({ params, query }: Route): readonly (readonly string[])[] {
  return [...parameters('path', asSchema(params)), ...parameters('query', asSchema(query))]
}

function parameters(place: string, schema: Schema): string[][] {
  const required = new Set(asArray(schema['required']))
  return Object.entries(asSchema(schema['properties'])).map(([name, inner]) => {
    const { description } = asSchema(inner)
    const text = typeof description === 'string' ? sentence(description) : ''
    const isRequired = place === 'query' && required.has(name)
    return [
      code(name),
      place,
      typeText(asSchema(inner)),
      isRequired ? `Required. ${text}`.trim() : text,
    ]
  })
}

function bodySection({ body, bodyType }: Route, types: NamedSchemas): readonly string[] {
  if (body === undefined) return []
  const schema = asSchema(body)
  types.note(schema)
  const type = bodyType === undefined ? '' : ` (${code(bodyType)})`
  const isJson = bodyType === undefined || bodyType.includes('json')
  return [
    `**Request${type}:** ${typeText(schema)}`,
    ...(typeof schema['$id'] === 'string' ? [] : [fieldTable(schema)]),
    ...(isJson ? [fence('json', exampleJson(schema))] : []),
  ]
}

function responseSection(route: Route, { types, common }: PageContext): readonly string[] {
  const entries = Object.entries(route.answers)
  for (const [, { schema }] of entries) if (schema !== undefined) types.note(asSchema(schema))
  const errors = errorRows(route).filter((row) => !common.errors.has(row.join('\n')))
  const good = entries.filter(([status]) => Number(status) < 400)
  const rows = [...good.map(([status, answer]) => responseRow(status, answer)), ...errors]
  return [table(RESPONSE_HEADINGS, rows), ...responseExample(good[0]?.[1])]
}

function errorRows({ answers }: Route): readonly (readonly string[])[] {
  return Object.entries(answers)
    .filter(([status]) => Number(status) >= 400)
    .map(([status, answer]) => responseRow(status, answer))
}

function responseRow(status: string, answer: RouteResponse): readonly string[] {
  return [status, responseType(answer), sentence(answer.description)]
}

function responseExample(answer: RouteResponse | undefined): readonly string[] {
  const isJson = answer?.contentType === undefined || answer.contentType.includes('json')
  if (answer?.schema === undefined || !isJson) return []
  return ['**Response:**', fence('json', exampleJson(asSchema(answer.schema)))]
}

function responseType({ schema, contentType }: RouteResponse): string {
  if (schema === undefined) return contentType === undefined ? '' : code(contentType)
  return typeText(asSchema(schema))
}

function typesPage(types: NamedSchemas): string {
  const parts = types.sorted().flatMap(([name, schema]) => {
    const { description } = schema
    const { $id: _, ...plain } = schema
    const fields = fieldTable(schema)
    return [
      `## ${name}`,
      typeof description === 'string' ? sentence(description) : '',
      fields === '' ? `A value: ${typeText(plain)}.` : fields,
    ]
  })
  return page('Types of the API', ['The named types of requests and responses.', ...parts])
}

function routeList(sections: ReadonlyMap<string, readonly Route[]>): string {
  const rows = [...sections].flatMap(([name, routes]) =>
    routes.map((route) => [
      `[\`${route.methods[0] ?? ''} ${route.path}\`](${name}.md#${anchor(headingOf(route))})`,
      sentence(route.summary),
    ]),
  )
  return table(['Route', 'Description'], rows)
}
