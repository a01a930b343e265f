import { resource, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandError, UsageError } from '../../failure.ts'
import { findPolicySet } from '../find.ts'
import { printList } from '../texts.ts'

type Parameter = ItemOf<'listPolicySetParameters'>

/** `policy-set param SET [KEY=VALUE…]`: sets and removes parameters and lists the result. */
export async function runPolicySetParam(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const [name = '', ...words] = invocation.args
  const { id: policy_set_id } = await findPolicySet(invocation, name)
  const known = await readParameters(invocation, policy_set_id)
  for (const [key, value] of words.map(parseKeyValue)) {
    const attributes = { key, value, ...(flags.has('sensitive') ? { sensitive: true } : {}) }
    const existing = known.get(key)
    if (existing === undefined) {
      const body = resource('vars', { ...attributes, category: 'policy-set' })
      await client.v2.createPolicySetParameter({ params: { policy_set_id }, body })
    } else {
      const params = { policy_set_id, parameter_id: existing.id }
      await client.v2.updatePolicySetParameter({ params, body: resource('vars', attributes) })
    }
  }
  for (const key of flags.strings('remove')) {
    const existing = known.get(key)
    if (existing === undefined) {
      throw new CommandError(`The set has no parameter "${key}".`, { code: EXIT_CODES.missing })
    }
    const params = { policy_set_id, parameter_id: existing.id }
    await client.v2.deletePolicySetParameter({ params })
  }
  const parameters = client.pages('listPolicySetParameters', { params: { policy_set_id } })
  return await printList(invocation, parameters, {
    heading: ['Key', 'Value'],
    row: (parameter) => [parameter.attributes.key, formatValue(parameter)],
    empty: 'The set has no parameters. "reeve policy-set param SET KEY=VALUE" sets one.',
  })
}

/** Formats parameters as `most=20, key=(sensitive)`; empty if there are none. */
export async function formatParameters(invocation: CommandContext, setId: string): Promise<string> {
  const known = await readParameters(invocation, setId)
  return [...known].map(([key, parameter]) => `${key}=${formatValue(parameter)}`).join(', ')
}

function formatValue({ attributes }: Parameter): string {
  return attributes.sensitive ? '(sensitive)' : (attributes.value ?? '')
}

async function readParameters(
  { client }: CommandContext,
  policy_set_id: string,
): Promise<ReadonlyMap<string, Parameter>> {
  const known = new Map<string, Parameter>()
  const pages = client.pages('listPolicySetParameters', { params: { policy_set_id } })
  for await (const parameter of pages) known.set(parameter.attributes.key, parameter)
  return known
}

function parseKeyValue(word: string): readonly [key: string, value: string] {
  const at = word.indexOf('=')
  if (at <= 0) throw new UsageError(`A parameter is KEY=VALUE, not "${word}".`)
  return [word.slice(0, at), word.slice(at + 1)]
}
