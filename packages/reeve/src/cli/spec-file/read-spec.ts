import {
  bodyToValue,
  didYouMean,
  formatDiagnostics,
  createScope,
  parseHcl,
  toJson,
  type Diagnostic,
} from '@reeve/hcl'
import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { fileText } from './file-text.ts'

/** How the members of a file are named in the API. */
export interface SpecShape {
  readonly [member: string]: {
    readonly wire: string
    /** A block: with members of its own, or with any (`map`). */
    readonly block?: SpecShape | 'map'
  }
}

export type Spec = Readonly<Record<string, unknown>>

interface SpecFile {
  readonly path: string
  /** The block that may stand around it, its label the name: `namespace "web" { … }`. */
  readonly around: string
  readonly shape: SpecShape
}

/** A record from a file in HCL, or in the JSON of the API. */
export async function readSpec(invocation: Invocation, file: SpecFile): Promise<Spec> {
  const text = await fileText(invocation, file.path)
  if (/^\s*\{/.test(text)) return readJson(file.path, text)
  const plain = readHcl(file.path, text)
  return renamed(unwrapped(plain, file), file.shape, file.path)
}

function readJson(path: string, text: string): Spec {
  try {
    const read: unknown = JSON.parse(text)
    if (isRecord(read)) return read
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    throw new CommandFailure(`${path} is not JSON: ${thrown.message}.`)
  }
  throw new CommandFailure(`${path} is not a JSON object.`)
}

function readHcl(path: string, text: string): Spec {
  const refuse = (diagnostics: readonly Diagnostic[]): never => {
    throw new CommandFailure(`${path} is wrong:`, { hint: formatDiagnostics(text, diagnostics) })
  }
  const body = parseHcl(text, path)
  if (!body.ok) return refuse(body.error)
  const value = bodyToValue(body.value, { scope: createScope() })
  if (!value.ok) return refuse(value.error)
  const plain: unknown = JSON.parse(toJson(value.value))
  return isRecord(plain) ? plain : {}
}

function unwrapped(plain: Spec, { around, path }: SpecFile): Spec {
  const outer = plain[around]
  if (outer === undefined) return plain
  const labelled = onlyBlock(outer, around, path)
  const [label = '', ...others] = Object.keys(labelled)
  const inner = labelled[label]
  const body = Array.isArray(inner) ? inner[0] : inner
  if (others.length > 0 || !isRecord(body)) {
    throw new CommandFailure(`${path}: "${around}" needs one name, as in ${around} "web" { }.`)
  }
  return { name: label, ...body }
}

function renamed(plain: Spec, shape: SpecShape, path: string): Spec {
  const members = Object.entries(plain).map(([member, value]) => {
    const known = Object.hasOwn(shape, member) ? shape[member] : undefined
    if (known === undefined) {
      const near = didYouMean(member, Object.keys(shape))
      throw new CommandFailure(`${path}: "${member}" is not known here.${near}`, {
        hint: `It may have ${Object.keys(shape).join(', ')}.`,
      })
    }
    const { wire, block } = known
    if (block === undefined) return [wire, value] as const
    const inner = onlyBlock(value, member, path)
    return [wire, block === 'map' ? inner : renamed(inner, block, path)] as const
  })
  return Object.fromEntries(members)
}

/** A block comes as a list of one; an attribute `meta = { … }` does as well. */
function onlyBlock(value: unknown, name: string, path: string): Spec {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  const [only] = all
  if (all.length === 1 && isRecord(only)) return only
  throw new CommandFailure(`${path}: there may be one block "${name}".`)
}

function isRecord(value: unknown): value is Spec {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
