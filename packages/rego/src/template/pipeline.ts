import { TEMPLATE_DEPTH_MAX } from '../builtins/limits.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parseNumber } from '../value/number.ts'
import type { Value } from '../value/value.ts'

/** Commands, each taking what the one before it gives as its last operand. */
export interface Pipeline {
  readonly declares: readonly string[]
  /** `=` instead of `:=`. */
  readonly isAssignment: boolean
  readonly commands: readonly (readonly Operand[])[]
}

export type Operand =
  | { readonly type: 'constant'; readonly value: Value }
  | { readonly type: 'path'; readonly root: string; readonly fields: readonly string[] }
  | { readonly type: 'function'; readonly name: string }
  | { readonly type: 'group'; readonly pipeline: Pipeline; readonly fields: readonly string[] }

interface Reader {
  readonly tokens: readonly string[]
  at: number
}

const TOKEN =
  /\s+|"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\]|\\.)'|:=|[()|,=]|\$?[A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+|\$[A-Za-z0-9_]*|[+-]?[0-9][0-9.eE+-]*|[A-Za-z_][A-Za-z0-9_]*|\.|./gy

export function parsePipeline(source: string): Result<Pipeline, string> {
  const tokens = (source.match(TOKEN) ?? []).filter(
    (token) => token.trim() !== '' || /^["`']/.test(token),
  )
  const reader: Reader = { tokens, at: 0 }
  const pipeline = readPipeline(reader, 0)
  if (!pipeline.ok) return pipeline
  const rest = reader.tokens[reader.at]
  return rest === undefined ? pipeline : err(`unexpected ${JSON.stringify(rest)} in operand`)
}

function readPipeline(reader: Reader, depth: number): Result<Pipeline, string> {
  if (depth > TEMPLATE_DEPTH_MAX) return err('the template is nested too deeply')
  const { declares, isAssignment } = readDeclaration(reader)
  const commands: (readonly Operand[])[] = []
  do {
    const command = readCommand(reader, depth)
    if (!command.ok) return command
    if (command.value.length === 0) return err('missing value for command')
    commands.push(command.value)
  } while (take(reader, '|'))
  return ok({ declares, isAssignment, commands })
}

/** `$x := `, `$x = ` or, for a range, `$i, $x := `. */
function readDeclaration(reader: Reader): Pick<Pipeline, 'declares' | 'isAssignment'> {
  const [first = '', second = '', third = '', fourth = ''] = reader.tokens.slice(
    reader.at,
    reader.at + 4,
  )
  const none = { declares: [], isAssignment: false }
  if (!/^\$\w+$/.test(first)) return none
  if (second === ':=' || second === '=') {
    reader.at += 2
    return { declares: [first], isAssignment: second === '=' }
  }
  if (second !== ',' || !/^\$\w+$/.test(third) || (fourth !== ':=' && fourth !== '=')) return none
  reader.at += 4
  return { declares: [first, third], isAssignment: fourth === '=' }
}

function readCommand(reader: Reader, depth: number): Result<readonly Operand[], string> {
  const operands: Operand[] = []
  for (;;) {
    const token = reader.tokens[reader.at]
    if (token === undefined || token === ')' || token === '|') return ok(operands)
    const operand = readOperand(reader, token, depth)
    if (!operand.ok) return operand
    operands.push(operand.value)
  }
}

function readOperand(reader: Reader, token: string, depth: number): Result<Operand, string> {
  reader.at++
  if (token === '(') {
    const pipeline = readPipeline(reader, depth + 1)
    if (!pipeline.ok) return pipeline
    if (!take(reader, ')')) return err('unclosed left paren')
    const next = reader.tokens[reader.at] ?? ''
    const hasFields = /^\.\w/.test(next)
    if (hasFields) reader.at++
    return ok({ type: 'group', pipeline: pipeline.value, fields: hasFields ? fieldsOf(next) : [] })
  }
  if (token === '.') return ok({ type: 'path', root: 'dot', fields: [] })
  if (token.startsWith('.')) return ok({ type: 'path', root: 'dot', fields: fieldsOf(token) })
  if (token.startsWith('$')) {
    const [root = '$', ...fields] = token.split('.')
    return ok({ type: 'path', root, fields })
  }
  const constant = constantOf(token)
  if (constant !== undefined) return ok({ type: 'constant', value: constant })
  return /^[A-Za-z_]\w*$/.test(token)
    ? ok({ type: 'function', name: token })
    : err(`unexpected ${JSON.stringify(token)} in operand`)
}

function fieldsOf(token: string): readonly string[] {
  return token.slice(1).split('.')
}

function constantOf(token: string): Value | undefined {
  if (token === 'true' || token === 'false') return token === 'true'
  if (token === 'nil') return null
  if (token.startsWith('`')) return token.slice(1, -1)
  if (token.startsWith("'")) return token.codePointAt(token[1] === '\\' ? 2 : 1)
  if (token.startsWith('"')) return unescape(token.slice(1, -1))
  return /^[+-]?[0-9]/.test(token) ? parseNumber(token) : undefined
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '"': '"',
  '\\': '\\',
}

function unescape(text: string): string {
  return text.replace(/\\(u[0-9a-fA-F]{4}|.)/gs, (_, escape: string) =>
    escape.length > 1
      ? String.fromCharCode(Number.parseInt(escape.slice(1), 16))
      : (ESCAPES[escape] ?? escape),
  )
}

function take(reader: Reader, token: string): boolean {
  if (reader.tokens[reader.at] !== token) return false
  reader.at++
  return true
}
