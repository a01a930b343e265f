import { Composer, Lexer, Parser, type CST, type Document } from 'yaml'
import { err, ok, type Result } from '../result.ts'
import { readNode, YamlError } from './read-node.ts'
import { YAML_DEPTH_MAX, YAML_LENGTH_MAX, YAML_TOKENS_MAX, YAML_TOP_LEVEL_MAX } from './limits.ts'
import type { YamlValue } from './read-node.ts'

/** Characters that are invalid even inside quotes (YAML specification, section 5.1). */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/

/** Parses a text with one document. An error includes its position: `line 3, column 5: …`. */
export function parseYaml(source: string): Result<YamlValue, string> {
  if (source.length > YAML_LENGTH_MAX)
    return err(`the text is longer than ${YAML_LENGTH_MAX} characters`)
  const text = source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
  try {
    return ok(readDocument(text))
  } catch (thrown) {
    if (!(thrown instanceof YamlError)) throw thrown
    return err(describe(text, thrown))
  }
}

function readDocument(text: string): YamlValue {
  const strange = UNPRINTABLE.exec(text)
  if (strange !== null) throw new YamlError(strange.index, 'a control character must be escaped')
  const [document] = composeDocuments(text)
  if (document === undefined) return null
  const [problem] = document.errors
  if (problem !== undefined) throw new YamlError(problem.pos[0], firstLine(problem.message))
  // Reserved directives are ignored. All other warnings concern tags, which `readNode` checks.
  const directive = document.warnings.find(
    ({ code, message }) => code === 'BAD_DIRECTIVE' && !message.startsWith('Unknown directive'),
  )
  if (directive !== undefined) throw new YamlError(directive.pos[0], firstLine(directive.message))
  return document.contents === null ? null : readNode(document.contents, text)
}

/**
 * Scalars stay strings here; `readNode` resolves them. The library's check for duplicate keys is
 * off because it is quadratic.
 */
const COMPOSE_OPTIONS = {
  schema: 'failsafe',
  resolveKnownTags: false,
  uniqueKeys: false,
  strict: true,
  prettyErrors: false,
  keepSourceTokens: false,
} as const

function composeDocuments(text: string): readonly Document.Parsed[] {
  const composer = new Composer(COMPOSE_OPTIONS)
  return [...composer.compose(tokensOf(text), true, text.length)]
}

const OPENS_ELEMENT: ReadonlySet<string> = new Set([',', '[', '{'])

/** Checks the numbers of tokens and levels before the recursive composer sees any of them. */
function tokensOf(text: string): readonly CST.Token[] {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let count = 0
  let at = 0
  let last = ''
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > YAML_TOKENS_MAX)
      throw new YamlError(at, `there are more than ${YAML_TOKENS_MAX} tokens`)
    // Thousands of missing elements would create as many errors, each with a stack trace.
    if (lexeme === ',' && OPENS_ELEMENT.has(last)) throw new YamlError(at, 'Unexpected , in flow')
    if (lexeme.trim() !== '') last = lexeme
    for (const token of parser.next(lexeme)) tokens.push(checked(token, tokens))
    // One entry of the stack is the document.
    if (parser.stack.length > YAML_DEPTH_MAX + 2)
      throw new YamlError(at, `values are nested more than ${YAML_DEPTH_MAX} levels deep`)
    at = parser.offset
  }
  for (const token of parser.end()) tokens.push(checked(token, tokens))
  return tokens
}

/** Stops at the first error: the library would collect thousands. */
function checked(token: CST.Token, before: readonly CST.Token[]): CST.Token {
  if (token.type === 'error') throw new YamlError(token.offset, firstLine(token.message))
  if (token.type === 'document' && before.some(({ type }) => type === 'document'))
    throw new YamlError(token.offset, 'there is more than one document')
  if (before.length > YAML_TOP_LEVEL_MAX)
    throw new YamlError(0, `there are more than ${YAML_TOP_LEVEL_MAX} directives and comments`)
  return token
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message
}

function describe(text: string, { at, message }: YamlError): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return `line ${line}, column ${column}: ${message}`
}
