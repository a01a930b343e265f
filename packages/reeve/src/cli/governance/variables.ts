import { v2 } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { inputBytes } from '../input.ts'
import { table } from '../output/table.ts'

/** Variables of runs: those of workspaces and of variable sets have the same commands. */

type Attributes = v2.WorkspaceVariable['attributes']

export interface ShownVariable {
  readonly id: string
  readonly attributes: Attributes
}

type Category = Attributes['category']

/** Attributes of a request; what is absent stays as it is. */
export interface VariableWish {
  readonly key: string
  readonly category: Category
  readonly value: string
  readonly hcl?: boolean
  readonly sensitive?: boolean
  readonly description?: string
}

/** The calls that a command needs, for one workspace or one set. */
export interface VariableCalls {
  /** How the owner is named in messages: `The workspace`. */
  readonly owner: string
  list(): Promise<readonly ShownVariable[]>
  create(attributes: VariableWish): Promise<unknown>
  update(id: string, attributes: VariableWish): Promise<unknown>
  delete(id: string): Promise<unknown>
}

const [INPUT, ENVIRONMENT] = v2.VARIABLE_CATEGORIES

function categoryOf({ flags }: Invocation): Category {
  return flags.has('env') ? ENVIRONMENT : INPUT
}

/** Sets each `KEY=VALUE`; a key alone reads its value from standard input. */
export async function setVariables(
  invocation: Invocation,
  calls: VariableCalls,
  words: readonly string[],
): Promise<number> {
  const { flags } = invocation
  const category = categoryOf(invocation)
  const description = flags.text('description')
  const wishes: VariableWish[] = []
  for (const word of words)
    wishes.push({
      ...(await pairOf(invocation, word, words.length)),
      category,
      ...(flags.has('hcl') ? { hcl: true } : {}),
      ...(flags.has('sensitive') ? { sensitive: true } : {}),
      ...(description === undefined ? {} : { description }),
    })
  const known = await calls.list()
  for (const wish of wishes) {
    const existing = find(known, wish)
    await (existing === undefined ? calls.create(wish) : calls.update(existing.id, wish))
  }
  return await listVariables(invocation, calls)
}

async function pairOf(
  invocation: Invocation,
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
  const bytes = await inputBytes(invocation, v2.PARAMETER_VALUE_LENGTH_MAX)
  return { key: word, value: new TextDecoder().decode(bytes).replace(/\n$/, '') }
}

function find(
  known: readonly ShownVariable[],
  { key, category }: Pick<VariableWish, 'key' | 'category'>,
): ShownVariable | undefined {
  return known.find(({ attributes }) => attributes.key === key && attributes.category === category)
}

/** Deletes variables by key, all or none of them. */
export async function unsetVariables(
  invocation: Invocation,
  calls: VariableCalls,
  keys: readonly string[],
): Promise<number> {
  const category = categoryOf(invocation)
  const known = await calls.list()
  const found = keys.map((key) => {
    const variable = find(known, { key, category })
    if (variable !== undefined) return variable
    throw new CommandFailure(`${calls.owner} has no ${kindText(category)} variable "${key}".`, {
      code: EXIT_CODES.missing,
    })
  })
  for (const { id } of found) await calls.delete(id)
  return await listVariables(invocation, calls)
}

export async function listVariables(
  { output }: Invocation,
  calls: Pick<VariableCalls, 'list' | 'owner'>,
): Promise<number> {
  const all = await calls.list()
  output.show(all, () =>
    all.length === 0 ? `${calls.owner} has no variables.` : variableTable(all),
  )
  return EXIT_CODES.ok
}

function variableTable(all: readonly ShownVariable[]): string {
  const row = ({ attributes }: ShownVariable): readonly string[] => [
    attributes.key,
    kindText(attributes.category),
    valueText(attributes),
    attributes.description ?? '',
  ]
  return table(['Key', 'Kind', 'Value', 'Description'], all.map(row))
}

function kindText(category: Category): string {
  return category === ENVIRONMENT ? 'environment' : 'input'
}

export function valueText({ sensitive, value }: Pick<Attributes, 'sensitive' | 'value'>): string {
  return sensitive ? '(sensitive)' : (value ?? '')
}
