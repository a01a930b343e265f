import { GraphQLError } from 'graphql/error/GraphQLError.js'
import type { DefinitionNode, DocumentNode, Token } from 'graphql/language/ast.js'
import { Kind } from 'graphql/language/kinds.js'
import { Lexer } from 'graphql/language/lexer.js'
import { parse } from 'graphql/language/parser.js'
import { Source } from 'graphql/language/source.js'
import { TokenKind } from 'graphql/language/tokenKind.js'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { GRAPHQL_TOKENS_MAX } from '../builtins/limits.ts'
import { NESTING_DEPTH_MAX } from '../limits.ts'
import { LimitExceeded } from '../value/limit-reached.ts'

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
