import type { Variable, VariableMetadata } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { findOrUndefined } from '../find-or-undefined.ts'
import { fields, table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { fileText, isFileName } from '../spec-file/file-text.ts'
import type { SpecShape } from '../spec-file/read-spec.ts'

const CONFLICT = 409

export async function runVarList(invocation: Invocation): Promise<number> {
  const { args, client, host, output, settings, signal } = invocation
  const found: VariableMetadata[] = []
  const query = { prefix: args[0] }
  for await (const one of client.pages('listVariables', { query, signal })) found.push(one)
  const isEverywhere = settings.namespace === '*'
  output.show(found, () => {
    if (found.length === 0) return 'There are no variables that the token may list.'
    const rows = found.map((one) => [
      ...(isEverywhere ? [one.Namespace] : []),
      one.Path,
      agoFromNs(one.ModifyTime, host.nowMs()),
      one.Lock === undefined ? '' : 'locked',
    ])
    return table([...(isEverywhere ? ['Namespace'] : []), 'Path', 'Changed', 'Lock'], rows)
  })
  return EXIT_CODES.ok
}

export async function runVarGet(invocation: Invocation): Promise<number> {
  const { args, client, flags, host, output } = invocation
  const path = args[0] ?? ''
  const { data } = await client.v1.readVariable({ params: { path } })
  const item = flags.text('item')
  if (item === undefined) {
    output.show(data, () => variableText(data, host.nowMs()))
    return EXIT_CODES.ok
  }
  const value = Object.hasOwn(data.Items, item) ? data.Items[item] : undefined
  if (value === undefined) {
    throw new CommandFailure(`Variable "${path}" has no item "${item}".`, {
      code: EXIT_CODES.missing,
      hint: `It has ${Object.keys(data.Items).join(', ')}.`,
    })
  }
  output.show(value, () => value)
  return EXIT_CODES.ok
}

function variableText(variable: Variable, nowMs: number): string {
  const { Namespace, Path, Items, ModifyIndex, ModifyTime } = variable
  const about = fields([
    ['Namespace', Namespace],
    ['Path', Path],
    ['Changed', agoFromNs(ModifyTime, nowMs)],
    ['Check index', String(ModifyIndex)],
  ])
  const items = Object.entries(Items).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${about}\nItems\n${fields(items)}`
}

/** Replaces the items of a variable; with `--merge` the other items are kept. */
export async function runVarPut(invocation: Invocation): Promise<number> {
  const { client, flags, output } = invocation
  const { path, items: given } = await inputOf(invocation)
  const isMerging = flags.has('merge')
  const known = isMerging
    ? await findOrUndefined(() => client.v1.readVariable({ params: { path } }))
    : undefined
  // Who merges changes what was just read, and nothing that came after it.
  const read = isMerging ? (known?.data.ModifyIndex ?? 0) : undefined
  const cas = flags.whole('check-index') ?? read
  const Items = { ...known?.data.Items, ...given }
  const { data } = await checked(() =>
    client.v1.writeVariable({
      params: { path },
      query: { cas: casText(cas) },
      body: { Path: path, Items },
    }),
  )
  output.show(data, () => `Variable "${data.Path}" is stored (check index ${data.ModifyIndex}).`)
  return EXIT_CODES.ok
}

const SHAPE: SpecShape = { path: { wire: 'Path' }, items: { wire: 'Items', block: 'map' } }

/** A path with items, or a file that contains both. */
async function inputOf(invocation: Invocation) {
  const [path = '', ...pairs] = invocation.args
  if (pairs.length > 0 || !isFileName(path))
    return { path, items: await itemsOf(invocation, pairs) }
  const { readSpec } = await import('../spec-file/read-spec.ts')
  const { Path, Items } = await readSpec(invocation, { path, around: 'variable', shape: SHAPE })
  if (typeof Path !== 'string') throw new UsageError(`${path} needs the attribute "path".`)
  if (!isTextMap(Items)) throw new UsageError(`${path} needs a block "items" of texts.`)
  return { path: Path, items: Items }
}

function isTextMap(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).every((item) => typeof item === 'string')
}

/** `KEY=VALUE`, or `KEY=@FILE` for the content of a file. */
async function itemsOf(invocation: Invocation, pairs: readonly string[]) {
  if (pairs.length === 0) throw new UsageError('give items as KEY=VALUE or KEY=@FILE.')
  const items: Record<string, string> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at <= 0) throw new UsageError(`items are KEY=VALUE or KEY=@FILE, not "${pair}".`)
    const value = pair.slice(at + 1)
    const isFile = value.startsWith('@')
    items[pair.slice(0, at)] = isFile ? await fileText(invocation, value.slice(1)) : value
  }
  return items
}

function casText(index: number | undefined): string | undefined {
  return index === undefined ? undefined : String(index)
}

export async function runVarPurge({ args, client, flags, output }: Invocation): Promise<number> {
  const path = args[0] ?? ''
  const query = { cas: casText(flags.whole('check-index')) }
  await checked(() => client.v1.deleteVariable({ params: { path }, query }))
  output.say(`Variable "${path}" is deleted.`)
  return EXIT_CODES.ok
}

/** The refusal of a stale index shows the whole variable: of that only the index is for the eye. */
async function checked<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== CONFLICT) throw thrown
    const index = /"ModifyIndex":(\d+)/.exec(thrown.text)?.[1] ?? 'another one'
    throw new CommandFailure(
      `The variable was modified in the meantime: its check index is ${index}.`,
      {
        code: EXIT_CODES.conflict,
        hint: 'Read it again with "reeve var get", then repeat the command.',
      },
    )
  }
}
