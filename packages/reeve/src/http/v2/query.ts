import { v2, type Route } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import type { JsonSchema } from '../decode.ts'
import type { RawQuery } from '../query.ts'

/** The requested page of a list. */
export interface PageParams {
  readonly number: number
  readonly size: number
  /** True if the request names a page; some lists are unpaginated without one. */
  readonly isExplicitPage: boolean
}

export interface ParsedQuery {
  /** Values by the names in the route's schema. */
  readonly values: Readonly<Record<string, string | number | boolean>>
  readonly page: PageParams
  readonly includes: ReadonlySet<string>
  /** Sparse fieldsets by type. */
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>
}

export type QueryParser = (raw: RawQuery) => Result<ParsedQuery, GovernanceRefusal>

interface Parameter extends JsonSchema {
  readonly minimum?: number
}

/**
 * Compiles the query of a route. Unknown names are ignored, as clients may be newer. Unknown
 * filters, searches and page parameters are rejected, because ignoring them would return a
 * different result; so are `q`, by which other lists are searched, and an `include` that the route
 * does not support.
 */
export function compileJsonApiQuery(route: Route, includes: readonly string[]): QueryParser {
  const schema: {
    readonly properties?: Readonly<Record<string, Parameter>>
    readonly required?: readonly string[]
  } = route.query ?? {}
  const parameters = new Map(Object.entries(schema.properties ?? {}))
  // Writes ignore `include`: clients add it to them as well.
  const isRead = route.methods[0] === 'GET'
  return (raw) => {
    const values: Record<string, string | number | boolean> = {}
    const fields = new Map<string, ReadonlySet<string>>()
    for (const [name, rawValue] of Object.entries(raw)) {
      const text = typeof rawValue === 'string' ? rawValue : (rawValue?.[0] ?? '')
      const parameter = parameters.get(name)
      const type = /^fields\[([^\]]+)\]$/.exec(name)?.[1]
      if (type !== undefined) fields.set(type, new Set(splitList(text)))
      else if (parameter !== undefined) {
        const value = parseValue(parameter, text)
        if (value === undefined) return invalidValue(name, text, allowedValuesText(parameter))
        values[name] = value
      } else if (name === 'include' && isRead) {
        const refused = parseIncludes(text, includes)
        if (!refused.ok) return refused
      } else if (STRICT_PARAMETERS.test(name))
        return invalidParameter(name, `${name} is not known here`)
    }
    for (const name of schema.required ?? [])
      if (values[name] === undefined || values[name] === '')
        // A missing required filter is 422, not 400.
        return err({ code: 'unprocessable', detail: `${name} must be given`, parameter: name })
    const included = parseIncludes(values['include'], includes)
    if (!included.ok) return included
    return ok({ values, page: pageParams(values), includes: included.value, fields })
  }
}

const STRICT_PARAMETERS = /^(?:q$|(?:q|filter|search|page)\[)/

function parseValue(parameter: Parameter, text: string): string | number | boolean | undefined {
  if (parameter.enum !== undefined) return parameter.enum.includes(text) ? text : undefined
  // A flag is set by its presence; only the value `false` clears it.
  if (parameter.anyOf !== undefined) return text !== 'false'
  if (parameter.type === 'boolean')
    return text === '' || text === 'true' ? true : text === 'false' ? false : undefined
  if (parameter.type === 'integer') {
    const value = Number(text)
    const isWhole = /^\d+$/.test(text) && Number.isSafeInteger(value)
    return isWhole && value >= (parameter.minimum ?? 0) ? value : undefined
  }
  return text
}

/** Returns the allowed values of a parameter as text. */
function allowedValuesText({ enum: values, type, minimum = 0 }: Parameter): string {
  if (values !== undefined) return oneOfText(values)
  return type === 'integer' ? `a whole number from ${minimum}` : 'true or false'
}

function oneOfText(values: readonly unknown[]): string {
  return `one of ${values.join(', ')}`
}

function pageParams(values: ParsedQuery['values']): PageParams {
  const number = values['page[number]']
  const size = values['page[size]']
  return {
    number: typeof number === 'number' ? number : 1,
    // A page size above the maximum is reduced to it, as the response shows.
    size: typeof size === 'number' ? Math.min(size, v2.PAGE_SIZE_MAX) : v2.PAGE_SIZE_DEFAULT,
    isExplicitPage: number !== undefined || size !== undefined,
  }
}

/** Parses `include`. Names use underscores; hyphens are equivalent. */
function parseIncludes(
  include: string | number | boolean | undefined,
  supported: readonly string[],
): Result<ReadonlySet<string>, GovernanceRefusal> {
  const names =
    typeof include === 'string' ? splitList(include).map((name) => name.replaceAll('-', '_')) : []
  const unknown = names.find((name) => !supported.includes(name))
  if (unknown === undefined) return ok(new Set(names))
  // Clients recognize this error by the words `include parameter`.
  const choice = supported.length === 0 ? 'nothing can be included here' : oneOfText(supported)
  return invalidParameter(
    'include',
    `Invalid include parameter ${JSON.stringify(unknown)}: ${choice}`,
  )
}

/** Splits a comma-separated list, and trims its parts; empty ones are dropped. */
export function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Splits a comma-separated list, whose parts must all be known. */
export function splitEnum(
  parameter: string,
  text: string,
  allowed: readonly string[],
): Result<readonly string[], GovernanceRefusal> {
  const parts = splitList(text)
  const unknown = parts.find((part) => !allowed.includes(part))
  return unknown === undefined ? ok(parts) : invalidValue(parameter, unknown, oneOfText(allowed))
}

function invalidValue(
  parameter: string,
  text: string,
  choice: string,
): Result<never, GovernanceRefusal> {
  return invalidParameter(parameter, `${parameter} cannot be ${JSON.stringify(text)}: ${choice}`)
}

/** Returns a 400 error for a query parameter. */
export function invalidParameter(
  parameter: string,
  detail: string,
): Result<never, GovernanceRefusal> {
  return err({ code: 'malformed', detail, parameter })
}
