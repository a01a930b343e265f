import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GraphQLError } from 'graphql/error/GraphQLError.js'
import type { DocumentNode } from 'graphql/language/ast.js'
import type { GraphQLSchema } from 'graphql/type/schema.js'
import { type DocumentKind, queryProblem, readText, schemaOf } from '../graphql/check.ts'
import { documentMembers } from '../graphql/document-value.ts'
import { documentOf, WrongShape } from '../graphql/value-document.ts'
import { fromJson, toHtmlSafeJsonString } from '../value/json.ts'
import { objectOf, type ObjectValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString } from './operands.ts'

const DOCUMENT = ['string', 'object'] as const
type Document = string | ObjectValue

export const GRAPHQL_BUILTINS: readonly Builtin[] = [
  define({ name: 'graphql.parse_query', operands: ['string'], result: 'object' }, (context, text) =>
    told(context, read(context, text, 'query'), shown),
  ),
  define(
    { name: 'graphql.parse_schema', operands: ['string'], result: 'object' },
    (context, text) => told(context, read(context, text, 'schema'), shown),
  ),
  define(
    { name: 'graphql.parse', operands: [DOCUMENT, DOCUMENT], result: 'array' },
    (context, query, schema) =>
      told(context, checked(context, query, schema), (both) => [
        shown(both.query),
        shown(both.schema),
      ]),
  ),
  define(
    { name: 'graphql.parse_and_verify', operands: [DOCUMENT, DOCUMENT], result: 'array' },
    (context, query, schema) => {
      const both = checked(context, query, schema)
      if (!both.ok) return [false, objectOf([]), objectOf([])]
      return [true, shown(both.value.query), shown(both.value.schema)]
    },
  ),
  define(
    { name: 'graphql.is_valid', operands: [DOCUMENT, DOCUMENT], result: 'boolean' },
    (context, query, schema) => checked(context, query, schema).ok,
  ),
  define(
    { name: 'graphql.schema_is_valid', operands: [DOCUMENT], result: 'boolean' },
    (context, schema) => knownSchema(context, schema).ok,
  ),
]

function told<T>(
  context: CallContext,
  result: Result<T, string>,
  show: (value: T) => Value,
): Value | undefined {
  return result.ok ? show(result.value) : context.fail(result.error)
}

function shown(document: DocumentNode): Value {
  return fromJson(documentMembers(document))
}

/** A text, or a document that a policy got from one. */
function read(
  context: CallContext,
  given: Document,
  kind: DocumentKind,
): Result<DocumentNode, string> {
  const text = typeof given === 'string' ? given : toHtmlSafeJsonString(given)
  chargeForString(context, text.length)
  // About what it costs to read, to check and to show.
  context.charge(text.length)
  if (typeof given === 'string') return readText(text, kind)
  try {
    return ok(documentOf(JSON.parse(text)))
  } catch (thrown) {
    if (thrown instanceof WrongShape) return err(thrown.message)
    throw thrown
  }
}

interface KnownSchema {
  readonly document: DocumentNode
  readonly schema: GraphQLSchema
}

/** Policies ask one schema about many queries. */
function knownSchema(context: CallContext, given: Document): Result<KnownSchema, string> {
  const key = typeof given === 'string' ? `graphql schema ${given}` : undefined
  const known = key === undefined ? undefined : context.memory.get(key)
  // Only this function writes under such keys.
  if (known !== undefined) return known as Result<KnownSchema, string>
  const made = makeSchema(context, given)
  if (key !== undefined) context.memory.set(key, made)
  return made
}

function makeSchema(context: CallContext, given: Document): Result<KnownSchema, string> {
  const document = read(context, given, 'schema')
  if (!document.ok) return document
  const schema = schemaOf(context, document.value)
  return schema.ok ? ok({ document: document.value, schema: schema.value }) : schema
}

function checked(
  context: CallContext,
  givenQuery: Document,
  givenSchema: Document,
): Result<{ readonly query: DocumentNode; readonly schema: DocumentNode }, string> {
  const query = read(context, givenQuery, 'query')
  if (!query.ok) return query
  const known = knownSchema(context, givenSchema)
  if (!known.ok) return known
  const problem = queryProblem(context, known.value.schema, query.value)
  if (problem !== undefined) return err(placed(problem))
  return ok({ query: query.value, schema: known.value.document })
}

/** A document that is no text has no places. */
function placed({ message, locations }: GraphQLError): string {
  const [place] = locations ?? []
  const text = message.replace(/\.$/, '')
  if (place === undefined) return text
  return `${text} in GraphQL string at location ${place.line}:${place.column}`
}
