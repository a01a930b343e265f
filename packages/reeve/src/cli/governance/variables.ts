import { v2 } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { readStdin } from '../input.ts'
import { renderTable } from '../output/format.ts'

/** Variables of runs: those of workspaces and of variable sets have the same commands. */

type Attributes = v2.WorkspaceVariable['attributes']

export interface VariableRecord {
  readonly id: string
  readonly attributes: Attributes
}

type Category = Attributes['category']

/** Attributes of a request; what is absent stays as it is. */
export interface VariableInput {
  readonly key: string
  readonly category: Category
  readonly value: string
  readonly hcl?: boolean
  readonly sensitive?: boolean
  readonly description?: string
}

/** The calls that a command needs, for one workspace or one set. */
export interface VariableApi {
  /** How the owner is named in messages: `The workspace`. */
  readonly owner: string
  list(): Promise<readonly VariableRecord[]>
  create(attributes: VariableInput): Promise<unknown>
  update(id: string, attributes: VariableInput): Promise<unknown>
  delete(id: string): Promise<unknown>
}

const [INPUT, ENVIRONMENT] = v2.VARIABLE_CATEGORIES

function categoryOf({ flags }: CommandContext): Category {
  return flags.has('env') ? ENVIRONMENT : INPUT
}

/** Sets each `KEY=VALUE`; a key alone reads its value from standard input. */
export async function setVariables(
  invocation: CommandContext,
  calls: VariableApi,
  words: readonly string[],
): Promise<number> {
  const { flags } = invocation
  const category = categoryOf(invocation)
  const description = flags.string('description')
  const inputs: VariableInput[] = []
  for (const word of words)
    inputs.push({
      ...(await parseVariable(invocation, word, words.length)),
      category,
      ...(flags.has('hcl') ? { hcl: true } : {}),
      ...(flags.has('sensitive') ? { sensitive: true } : {}),
      ...(description === undefined ? {} : { description }),
    })
  const known = await calls.list()
  for (const input of inputs) {
    const existing = findVariable(known, input)
    await (existing === undefined ? calls.create(input) : calls.update(existing.id, input))
  }
  return await listVariables(invocation, calls)
}

async function parseVariable(
  invocation: CommandContext,
  word: string,
  count: number,
): Promise<{ readonly key: string; readonly value: string }> {
  const at = word.indexOf('=')
  if (at === 0) throw new UsageError(`A variable is KEY=VALUE, not "${word}".`)
  if (at > 0) return { key: word.slice(0, at), value: word.slice(at + 1) }
  if (count > 1)
    throw new UsageError(
      `"${word}" has no value: KEY alone reads standard input, and must be the only one.`,
    )
  const bytes = await readStdin(invocation, v2.PARAMETER_VALUE_LENGTH_MAX)
  return { key: word, value: new TextDecoder().decode(bytes).replace(/\n$/, '') }
}

function findVariable(
  known: readonly VariableRecord[],
  { key, category }: Pick<VariableInput, 'key' | 'category'>,
): VariableRecord | undefined {
  return known.find(({ attributes }) => attributes.key === key && attributes.category === category)
}

/** Deletes variables by key, all or none of them. */
export async function unsetVariables(
  invocation: CommandContext,
  calls: VariableApi,
  keys: readonly string[],
): Promise<number> {
  const category = categoryOf(invocation)
  const known = await calls.list()
  const found = keys.map((key) => {
    const variable = findVariable(known, { key, category })
    if (variable !== undefined) return variable
    throw new CommandError(`${calls.owner} has no ${formatCategory(category)} variable "${key}".`, {
      code: EXIT_CODES.missing,
    })
  })
  for (const { id } of found) await calls.delete(id)
  return await listVariables(invocation, calls)
}

export async function listVariables(
  { output }: CommandContext,
  calls: Pick<VariableApi, 'list' | 'owner'>,
): Promise<number> {
  const all = await calls.list()
  output.print(all, () =>
    all.length === 0 ? `${calls.owner} has no variables.` : variableTable(all),
  )
  return EXIT_CODES.ok
}

function variableTable(all: readonly VariableRecord[]): string {
  const row = ({ attributes }: VariableRecord): readonly string[] => [
    attributes.key,
    formatCategory(attributes.category),
    formatValue(attributes),
    attributes.description ?? '',
  ]
  return renderTable(['Key', 'Kind', 'Value', 'Description'], all.map(row))
}

function formatCategory(category: Category): string {
  return category === ENVIRONMENT ? 'environment' : 'input'
}

export function formatValue({ sensitive, value }: Pick<Attributes, 'sensitive' | 'value'>): string {
  return sensitive ? '(sensitive)' : (value ?? '')
}
