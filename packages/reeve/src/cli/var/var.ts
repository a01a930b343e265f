import type { Variable, VariableMetadata } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { undefinedIfNotFound } from '../resolve.ts'
import { agoFromNs, renderFields, renderTable } from '../output/format.ts'
import { readTextFile, isFileName } from '../input.ts'
import type { DefinitionSchema } from '../definition-file.ts'
import { writeExample } from '../write-example.ts'

const CONFLICT = 409

export async function runVarList(invocation: CommandContext): Promise<number> {
  const { args, client, host, output, settings, signal } = invocation
  const found: VariableMetadata[] = []
  const query = { prefix: args[0] }
  for await (const one of client.pages('listVariables', { query, signal })) found.push(one)
  const isEverywhere = settings.namespace === '*'
  output.print(found, () => {
    if (found.length === 0) return 'There are no variables that the token may list.'
    const rows = found.map((one) => [
      ...(isEverywhere ? [one.Namespace] : []),
      one.Path,
      agoFromNs(one.ModifyTime, host.nowMs()),
      one.Lock === undefined ? '' : 'locked',
    ])
    return renderTable([...(isEverywhere ? ['Namespace'] : []), 'Path', 'Changed', 'Lock'], rows)
  })
  return EXIT_CODES.ok
}

export async function runVarGet(invocation: CommandContext): Promise<number> {
  const { args, client, flags, host, output } = invocation
  const path = args[0] ?? ''
  const { data } = await client.v1.readVariable({ params: { path } })
  const item = flags.string('item')
  if (item === undefined) {
    output.print(data, () => formatVariable(data, host.nowMs()))
    return EXIT_CODES.ok
  }
  const value = Object.hasOwn(data.Items, item) ? data.Items[item] : undefined
  if (value === undefined) {
    throw new CommandError(`Variable "${path}" has no item "${item}".`, {
      code: EXIT_CODES.missing,
      hint: `It has ${Object.keys(data.Items).join(', ')}.`,
    })
  }
  output.print(value, () => value)
  return EXIT_CODES.ok
}

function formatVariable(variable: Variable, nowMs: number): string {
  const { Namespace, Path, Items, ModifyIndex, ModifyTime } = variable
  const about = renderFields([
    ['Namespace', Namespace],
    ['Path', Path],
    ['Changed', agoFromNs(ModifyTime, nowMs)],
    ['Check index', String(ModifyIndex)],
  ])
  const items = Object.entries(Items).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${about}\nItems\n${renderFields(items)}`
}

/** Replaces the items of a variable; with `--merge` the other items are kept. */
export async function runVarPut(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { path, items: given } = await readInput(invocation)
  const isMerging = flags.has('merge')
  const known = isMerging
    ? await undefinedIfNotFound(() => client.v1.readVariable({ params: { path } }))
    : undefined
  // The index check of a merge makes sure that the variable was not modified since it was read.
  const read = isMerging ? (known?.data.ModifyIndex ?? 0) : undefined
  const cas = flags.integer('check-index') ?? read
  const Items = { ...known?.data.Items, ...given }
  const { data } = await mapConflict(() =>
    client.v1.writeVariable({
      params: { path },
      query: { cas: formatCas(cas) },
      body: { Path: path, Items },
    }),
  )
  output.print(data, () => `Variable "${data.Path}" is stored (check index ${data.ModifyIndex}).`)
  return EXIT_CODES.ok
}

const VARIABLE_SCHEMA: DefinitionSchema = {
  path: { wire: 'Path' },
  items: { wire: 'Items', block: 'map' },
}

/** A path with items, or a file that contains both. */
async function readInput(invocation: CommandContext) {
  const [path = '', ...pairs] = invocation.args
  if (pairs.length > 0 || !isFileName(path))
    return { path, items: await parseItems(invocation, pairs) }
  const { readDefinition } = await import('../definition-file.ts')
  const { Path, Items } = await readDefinition(invocation, {
    path,
    blockName: 'variable',
    schema: VARIABLE_SCHEMA,
  })
  if (typeof Path !== 'string') throw new UsageError(`${path} needs the attribute "path".`)
  if (!isStringMap(Items)) throw new UsageError(`${path} needs a block "items" of texts.`)
  return { path: Path, items: Items }
}

function isStringMap(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).every((item) => typeof item === 'string')
}

/** `KEY=VALUE`, or `KEY=@FILE` for the content of a file. */
async function parseItems(invocation: CommandContext, pairs: readonly string[]) {
  if (pairs.length === 0) throw new UsageError('give items as KEY=VALUE or KEY=@FILE.')
  const items: Record<string, string> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at <= 0) throw new UsageError(`items are KEY=VALUE or KEY=@FILE, not "${pair}".`)
    const value = pair.slice(at + 1)
    const isFile = value.startsWith('@')
    items[pair.slice(0, at)] = isFile ? await readTextFile(invocation, value.slice(1)) : value
  }
  return items
}

function formatCas(index: number | undefined): string | undefined {
  return index === undefined ? undefined : String(index)
}

export async function runVarPurge({
  args,
  client,
  flags,
  output,
}: CommandContext): Promise<number> {
  const path = args[0] ?? ''
  const query = { cas: formatCas(flags.integer('check-index')) }
  await mapConflict(() => client.v1.deleteVariable({ params: { path }, query }))
  output.printLine(`Variable "${path}" is deleted.`)
  return EXIT_CODES.ok
}

/**
 * Maps a conflict to an error that shows only the modify index: the response contains all values.
 */
async function mapConflict<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== CONFLICT) throw thrown
    const index = /"ModifyIndex":(\d+)/.exec(thrown.text)?.[1] ?? 'another one'
    throw new CommandError(
      `The variable was modified in the meantime: its check index is ${index}.`,
      {
        code: EXIT_CODES.conflict,
        hint: 'Read it again with "reeve var get", then repeat the command.',
      },
    )
  }
}

const EXAMPLE = `path = "apps/web/db"

items {
  username = "web"
  password = "change me"
}
`

/** `var init`: writes an example that `var put` accepts. */
export async function runVarInit(invocation: CommandContext): Promise<number> {
  const file = invocation.args[0] ?? 'spec.var.hcl'
  await writeExample(invocation, { file, text: EXAMPLE, next: [`reeve var put ${file}`] })
  return EXIT_CODES.ok
}
