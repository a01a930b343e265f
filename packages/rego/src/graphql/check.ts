import { GraphQLError } from 'graphql/error/GraphQLError.js'
import type {
  DefinitionNode,
  DocumentNode,
  NamedTypeNode,
  SelectionSetNode,
  Token,
  TypeDefinitionNode,
  TypeExtensionNode,
  TypeNode,
} from 'graphql/language/ast.js'
import { Kind } from 'graphql/language/kinds.js'
import { Lexer } from 'graphql/language/lexer.js'
import { parse } from 'graphql/language/parser.js'
import { Source } from 'graphql/language/source.js'
import { TokenKind } from 'graphql/language/tokenKind.js'
import { specifiedScalarTypes } from 'graphql/type/scalars.js'
import { introspectionTypes } from 'graphql/type/introspection.js'
import type { GraphQLSchema } from 'graphql/type/schema.js'
import { validateSchema } from 'graphql/type/validate.js'
import { buildASTSchema } from 'graphql/utilities/buildASTSchema.js'
import { specifiedSDLRules, specifiedRules } from 'graphql/validation/specifiedRules.js'
import { validate, validateSDL } from 'graphql/validation/validate.js'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { CallContext } from '../builtins/builtin.ts'
import { GRAPHQL_TOKENS_MAX } from '../builtins/limits.ts'
import { NESTING_DEPTH_MAX } from '../limits.ts'
import { LimitExceeded } from '../value/fuel.ts'

/** The schema that a document defines, or the first thing that is wrong with it. */
export function schemaOf(
  context: CallContext,
  document: DocumentNode,
): Result<GraphQLSchema, string> {
  const types = document.definitions.filter(isType)
  const bases = extendedOnly(types)
  const unknown = unknownType(document, new Set([...types, ...bases].map(({ name }) => name.value)))
  // The library compares each unknown name with all that are known.
  if (unknown !== undefined) return err(`Undefined type ${unknown}`)
  context.charge(interfaceWork(types))
  const whole = { ...document, definitions: [...document.definitions, ...bases] }
  const [problem] = validateSDL(whole, null, SCHEMA_RULES)
  if (problem !== undefined) return err(problem.message)
  const schema = buildASTSchema(whole, { assumeValidSDL: true })
  const invalid = validateSchema(schema).find(({ message }) => message !== NO_QUERY_TYPE)
  if (invalid !== undefined) return err(invalid.message)
  // A schema without queries is no problem here, but the library would refuse every document.
  return ok(schema.getQueryType() ? schema : buildASTSchema(whole, { assumeValid: true }))
}

const NO_QUERY_TYPE = 'Query root type must be provided.'

/** Arguments of directives are not checked, as in other engines of the language. */
const SCHEMA_RULES = specifiedSDLRules.filter(
  ({ name }) =>
    name !== 'KnownArgumentNamesOnDirectivesRule' &&
    name !== 'ProvidedRequiredArgumentsOnDirectivesRule',
)

const BUILT_IN_TYPES = [...specifiedScalarTypes, ...introspectionTypes].map(({ name }) => name)

type TypeNodeOfSchema = TypeDefinitionNode | TypeExtensionNode

function isType(node: DefinitionNode): node is TypeNodeOfSchema {
  return node.kind in BASES || Object.values<string>(BASES).includes(node.kind)
}

const BASES = {
  [Kind.SCALAR_TYPE_EXTENSION]: Kind.SCALAR_TYPE_DEFINITION,
  [Kind.OBJECT_TYPE_EXTENSION]: Kind.OBJECT_TYPE_DEFINITION,
  [Kind.INTERFACE_TYPE_EXTENSION]: Kind.INTERFACE_TYPE_DEFINITION,
  [Kind.UNION_TYPE_EXTENSION]: Kind.UNION_TYPE_DEFINITION,
  [Kind.ENUM_TYPE_EXTENSION]: Kind.ENUM_TYPE_DEFINITION,
  [Kind.INPUT_OBJECT_TYPE_EXTENSION]: Kind.INPUT_OBJECT_TYPE_DEFINITION,
} as const

/** Types that are extended and nowhere defined exist with what the extensions say. */
function extendedOnly(types: readonly TypeNodeOfSchema[]): readonly TypeDefinitionNode[] {
  const known = new Set(BUILT_IN_TYPES)
  for (const type of types) if (!(type.kind in BASES)) known.add(type.name.value)
  const bases: TypeDefinitionNode[] = []
  for (const type of types) {
    if (known.has(type.name.value)) continue
    known.add(type.name.value)
    // Only extensions are left.
    const kind = BASES[type.kind as keyof typeof BASES]
    bases.push({ kind, name: type.name })
  }
  return bases
}

function unknownType(document: DocumentNode, defined: ReadonlySet<string>): string | undefined {
  const known = new Set([...BUILT_IN_TYPES, ...defined])
  return referencedTypes(document).find((name) => !known.has(name))
}

function referencedTypes({ definitions }: DocumentNode): readonly string[] {
  return definitions.flatMap((node) => {
    const types: TypeNode[] = []
    if ('operationTypes' in node) types.push(...(node.operationTypes ?? []).map(({ type }) => type))
    if ('interfaces' in node) types.push(...(node.interfaces ?? []))
    if ('types' in node) types.push(...(node.types ?? []))
    if ('arguments' in node) types.push(...(node.arguments ?? []).map(({ type }) => type))
    if ('fields' in node)
      for (const field of node.fields ?? []) {
        types.push(field.type)
        if ('arguments' in field) types.push(...(field.arguments ?? []).map(({ type }) => type))
      }
    return types.map((type) => namedIn(type).name.value)
  })
}

function namedIn(type: TypeNode): NamedTypeNode {
  return type.kind === Kind.NAMED_TYPE ? type : namedIn(type.type)
}

/** Steps for comparing fields of types with those of their interfaces: each may be a problem. */
function interfaceWork(types: readonly TypeNodeOfSchema[]): number {
  const fields = new Map<string, number>()
  for (const type of types)
    if ('fields' in type)
      fields.set(type.name.value, (fields.get(type.name.value) ?? 0) + (type.fields?.length ?? 0))
  let work = 0
  for (const type of types)
    if ('interfaces' in type)
      for (const { name } of type.interfaces ?? []) work += fields.get(name.value) ?? 0
  return work * STEPS_PER_PAIR
}

const STEPS_PER_PAIR = 50

/** The first reason why a query cannot be asked of a schema. */
export function queryProblem(
  context: CallContext,
  schema: GraphQLSchema,
  document: DocumentNode,
): GraphQLError | undefined {
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION || schema.getRootType(node.operation)) continue
    const message = `Schema does not support operation type "${node.operation}"`
    return new GraphQLError(message, { nodes: node })
  }
  context.charge(mergeWork(document))
  return validate(schema, document, QUERY_RULES, { maxErrors: 1 })[0]
}

/** Its limit of depth is a recommendation of the library, not a rule of the language. */
const QUERY_RULES = specifiedRules.filter(({ name }) => name !== 'MaxIntrospectionDepthRule')

/** Steps for comparing fields of one name with each other: all pairs of them. */
function mergeWork({ definitions }: DocumentNode): number {
  const counts = new Map<string, number>()
  const open: SelectionSetNode[] = definitions.flatMap((node) =>
    'selectionSet' in node ? [node.selectionSet] : [],
  )
  for (let set = open.pop(); set !== undefined; set = open.pop())
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        const name = (node.alias ?? node.name).value
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      if (node.kind !== Kind.FRAGMENT_SPREAD && node.selectionSet !== undefined)
        open.push(node.selectionSet)
    }
  let work = 0
  for (const count of counts.values()) work += count * count
  return work * STEPS_PER_PAIR
}

/** Kinds of values in the documents that policies see. */
export const KINDS = {
  variable: 0,
  int: 1,
  float: 2,
  string: 3,
  block: 4,
  boolean: 5,
  null: 6,
  enum: 7,
  list: 8,
  object: 9,
} as const

/** Kinds of types in the documents that policies see, by the library's names of their nodes. */
export const OF_TYPES = {
  ScalarTypeDefinition: 'SCALAR',
  ObjectTypeDefinition: 'OBJECT',
  InterfaceTypeDefinition: 'INTERFACE',
  UnionTypeDefinition: 'UNION',
  EnumTypeDefinition: 'ENUM',
  InputObjectTypeDefinition: 'INPUT_OBJECT',
  ScalarTypeExtension: 'SCALAR',
  ObjectTypeExtension: 'OBJECT',
  InterfaceTypeExtension: 'INTERFACE',
  UnionTypeExtension: 'UNION',
  EnumTypeExtension: 'ENUM',
  InputObjectTypeExtension: 'INPUT_OBJECT',
} as const

/** Queries contain operations and fragments; schemas define and extend types. */
export type DocumentKind = 'query' | 'schema'

/** Parses a text; an error includes the position. An empty text is an empty document. */
export function readText(text: string, wanted: DocumentKind): Result<DocumentNode, string> {
  const source = new Source(text)
  try {
    if (checkTokens(source) === 0) return ok({ kind: Kind.DOCUMENT, definitions: [] })
    // Policies may use an older syntax of fragments, which the library supports until version 17.
    // oxlint-disable-next-line typescript/no-deprecated
    const document = parse(source, { allowLegacyFragmentVariables: true })
    const other = document.definitions.find((definition) => kindOf(definition) !== wanted)
    const first = other?.loc?.startToken
    if (first === undefined) return ok(document)
    return err(placed(`Unexpected ${shown(first)}`, first))
  } catch (thrown) {
    if (thrown instanceof GraphQLError) return err(problemText(thrown, source))
    throw thrown
  }
}

function kindOf({ kind }: DefinitionNode): DocumentKind {
  return kind === Kind.OPERATION_DEFINITION || kind === Kind.FRAGMENT_DEFINITION
    ? 'query'
    : 'schema'
}

/** Checks the number of tokens, because the parser recurses for each bracket. */
function checkTokens(source: Source): number {
  const lexer = new Lexer(source)
  let count = 0
  let depth = 0
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
    count++
    if (count > GRAPHQL_TOKENS_MAX) throw new LimitExceeded('a GraphQL text has too many tokens')
    if (OPENS.has(token.kind)) depth++
    else if (CLOSES.has(token.kind)) depth--
    if (depth > NESTING_DEPTH_MAX) throw new LimitExceeded('a GraphQL text is nested too deeply')
  }
  return count
}

const OPENS: ReadonlySet<string> = new Set(['{', '[', '('])
const CLOSES: ReadonlySet<string> = new Set(['}', ']', ')'])

/** Converts the library's message to the form that policies of this language expect. */
function problemText({ message, positions }: GraphQLError, source: Source): string {
  const at = positions?.[0] ?? 0
  const text = message.replace(/^Syntax Error: /, '')
  const [before, found] = tokensAt(source, at)
  if (found === undefined)
    return `${placedAt('Unexpected <Invalid>', source, at)}: ${text.replace(/\.$/, '')}`
  if (before !== undefined && OPENS.has(before.kind) && CLOSES.has(found.kind))
    return placed(`expected at least one definition, found ${found.kind}`, found)
  if (text.startsWith('Expected')) {
    const wanted = /^Expected (?:"([^"\w]+)"|(\w+)),/.exec(text)
    // Expected keywords are quoted, and the found token is shown with its text.
    if (wanted === null) return placed(`${text.split(', found')[0]}, found ${shown(found)}`, found)
    return placed(`Expected ${wanted[1] ?? wanted[2]}, found ${found.kind}`, found)
  }
  return placed(`Unexpected ${shown(found)}`, found)
}

/** Returns the token at the position and the previous one; neither if the token is invalid. */
function tokensAt(source: Source, at: number): readonly [Token | undefined, Token | undefined] {
  const lexer = new Lexer(source)
  try {
    let before: Token | undefined
    for (;;) {
      const token = lexer.advance()
      if (token.start >= at) return [before, token]
      if (token.kind === TokenKind.EOF) return [before, token]
      before = token
    }
  } catch (thrown) {
    if (thrown instanceof GraphQLError) return [undefined, undefined]
    throw thrown
  }
}

function shown({ kind, value }: Token): string {
  return value === undefined || value === '' ? kind : `${kind} ${JSON.stringify(value)}`
}

/** Strings are located by their first character instead of the opening quotes. */
function placed(message: string, { kind, line, column }: Token): string {
  const quotes = kind === TokenKind.STRING ? 1 : kind === TokenKind.BLOCK_STRING ? 3 : 0
  return `${message} in GraphQL string at location ${line}:${column + quotes}`
}

function placedAt(message: string, source: Source, at: number): string {
  const lines = source.body.slice(0, at).split(/\r\n|[\n\r]/)
  return `${message} in GraphQL string at location ${lines.length}:${(lines.at(-1) ?? '').length + 1}`
}
