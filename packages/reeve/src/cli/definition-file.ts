import {
  bodyToValue,
  didYouMean,
  formatDiagnostics,
  createScope,
  parseHcl,
  toJson,
  type Diagnostic,
} from '@reeve/hcl'
import type { CommandContext } from './command.ts'
import { CommandError } from './errors.ts'
import { readTextFile } from './input.ts'

/** Maps the members of a definition file to API fields. */
export interface DefinitionSchema {
  readonly [member: string]: {
    readonly wire: string
    /** The members of a block; `map` allows any. */
    readonly block?: DefinitionSchema | 'map'
  }
}

type Definition = Readonly<Record<string, unknown>>

interface DefinitionFile {
  readonly path: string
  /** Optional enclosing block with the name as label, such as `namespace "web" { … }`. */
  readonly blockName: string
  readonly schema: DefinitionSchema
}

/** Reads a definition from a file in HCL or API JSON. */
export async function readDefinition(
  invocation: CommandContext,
  file: DefinitionFile,
): Promise<Definition> {
  const text = await readTextFile(invocation, file.path)
  if (/^\s*\{/.test(text)) return readJson(file.path, text)
  const plain = readHcl(file.path, text)
  return toWireNames(unwrapBlock(plain, file), file.schema, file.path)
}

function readJson(path: string, text: string): Definition {
  try {
    const read: unknown = JSON.parse(text)
    if (isRecord(read)) return read
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    throw new CommandError(`${path} is not JSON: ${thrown.message}.`)
  }
  throw new CommandError(`${path} is not a JSON object.`)
}

function readHcl(path: string, text: string): Definition {
  const fail = (diagnostics: readonly Diagnostic[]): never => {
    throw new CommandError(`${path} is wrong:`, { hint: formatDiagnostics(text, diagnostics) })
  }
  const body = parseHcl(text, path)
  if (!body.ok) return fail(body.error)
  const value = bodyToValue(body.value, { scope: createScope() })
  if (!value.ok) return fail(value.error)
  const json: unknown = JSON.parse(toJson(value.value))
  return isRecord(json) ? json : {}
}

function unwrapBlock(plain: Definition, { blockName, path }: DefinitionFile): Definition {
  const outer = plain[blockName]
  if (outer === undefined) return plain
  const labelled = singleBlock(outer, blockName, path)
  const [label = '', ...others] = Object.keys(labelled)
  const inner = labelled[label]
  const body = Array.isArray(inner) ? inner[0] : inner
  if (others.length > 0 || !isRecord(body)) {
    throw new CommandError(`${path}: "${blockName}" needs one name, as in ${blockName} "web" { }.`)
  }
  return { name: label, ...body }
}

function toWireNames(plain: Definition, shape: DefinitionSchema, path: string): Definition {
  const members = Object.entries(plain).map(([member, value]) => {
    const known = Object.hasOwn(shape, member) ? shape[member] : undefined
    if (known === undefined) {
      const near = didYouMean(member, Object.keys(shape))
      throw new CommandError(`${path}: "${member}" is not known here.${near}`, {
        hint: `It may have ${Object.keys(shape).join(', ')}.`,
      })
    }
    const { wire, block } = known
    if (block === undefined) return [wire, value] as const
    const inner = singleBlock(value, member, path)
    return [wire, block === 'map' ? inner : toWireNames(inner, block, path)] as const
  })
  return Object.fromEntries(members)
}

/**
 * Returns the only block. Blocks are parsed as lists; attributes such as `meta = { … }` are
 * accepted, too.
 */
function singleBlock(value: unknown, name: string, path: string): Definition {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  const [only] = all
  if (all.length === 1 && isRecord(only)) return only
  throw new CommandError(`${path}: there may be one block "${name}".`)
}

function isRecord(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
