import { resource, type ItemOf } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { CommandFailure, UsageError } from '../../failure.ts'
import { findPolicySet } from '../find.ts'
import { showList } from '../texts.ts'

type Parameter = ItemOf<'listPolicySetParameters'>

/** `policy-set param SET [KEY=VALUE…]`: sets, removes, and shows what there is then. */
export async function runPolicySetParam(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const [name = '', ...words] = invocation.args
  const { id: policy_set_id } = await findPolicySet(invocation, name)
  const known = await parametersOf(invocation, policy_set_id)
  for (const [key, value] of words.map(pairOf)) {
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
  for (const key of flags.texts('remove')) {
    const existing = known.get(key)
    if (existing === undefined) {
      throw new CommandFailure(`The set has no parameter "${key}".`, { code: EXIT_CODES.missing })
    }
    const params = { policy_set_id, parameter_id: existing.id }
    await client.v2.deletePolicySetParameter({ params })
  }
  const parameters = client.pages('listPolicySetParameters', { params: { policy_set_id } })
  return await showList(invocation, parameters, {
    heading: ['Key', 'Value'],
    row: (parameter) => [parameter.attributes.key, valueText(parameter)],
    empty: 'The set has no parameters. "reeve policy-set param SET KEY=VALUE" sets one.',
  })
}

/** `most=20, key=(sensitive)`; empty for none. */
export async function parametersText(invocation: Invocation, setId: string): Promise<string> {
  const known = await parametersOf(invocation, setId)
  return [...known].map(([key, parameter]) => `${key}=${valueText(parameter)}`).join(', ')
}

function valueText({ attributes }: Parameter): string {
  return attributes.sensitive ? '(sensitive)' : (attributes.value ?? '')
}

async function parametersOf(
  { client }: Invocation,
  policy_set_id: string,
): Promise<ReadonlyMap<string, Parameter>> {
  const known = new Map<string, Parameter>()
  const pages = client.pages('listPolicySetParameters', { params: { policy_set_id } })
  for await (const parameter of pages) known.set(parameter.attributes.key, parameter)
  return known
}

function pairOf(word: string): readonly [key: string, value: string] {
  const at = word.indexOf('=')
  if (at <= 0) throw new UsageError(`A parameter is KEY=VALUE, not "${word}".`)
  return [word.slice(0, at), word.slice(at + 1)]
}
