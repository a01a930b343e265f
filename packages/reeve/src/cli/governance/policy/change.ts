import { basename, extname } from 'node:path'
import { v2 } from '@reeve/contract'
import { resource, toMany } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { fileBytes } from '../../input.ts'
import { findPolicy, findPolicySet } from '../find.ts'
import { organizationOf } from '../organization.ts'
import { given } from '../texts.ts'
import { showPolicy } from './policy.ts'

/** Reads the file first: a record without code is of use to nobody. */
export async function runPolicyCreate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const [file = ''] = args
  const code = await fileBytes(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX })
  const kind = flags.oneOf('kind', v2.POLICY_KINDS) ?? kindOf(file)
  const name = flags.text('name') ?? basename(file, extname(file))
  if (name === '-') throw new UsageError('Code from standard input needs --name.')
  const level = flags.oneOf('level', v2.ENFORCEMENT_LEVELS[kind])
  const sets = await Promise.all(
    flags.texts('set').map(async (set) => (await findPolicySet(invocation, set)).id),
  )
  const { data } = await client.v2.createPolicy({
    params: await organizationOf(invocation),
    body: resource(
      'policies',
      {
        name,
        kind,
        'enforcement-level': level ?? 'advisory',
        ...given({ description: flags.text('description'), query: flags.text('query') }),
      },
      { 'policy-sets': toMany('policy-sets', sets) },
    ),
  })
  const { id } = data.data
  await client.v2.uploadPolicy({ params: { policy_id: id }, body: code })
  return await showPolicy(invocation, id)
}

function kindOf(file: string): v2.PolicyKind {
  const kind = v2.POLICY_KINDS.find((one) => file.endsWith(v2.POLICY_FILE_SUFFIXES[one]))
  if (kind !== undefined) return kind
  throw new UsageError(`"${file}" ends neither with .native nor with .rego: give --kind.`)
}

export async function runPolicyUpdate(invocation: Invocation): Promise<number> {
  const { args, client, flags } = invocation
  const { id, attributes } = await findPolicy(invocation, args[0] ?? '')
  const changed = given({
    description: flags.text('description'),
    query: flags.text('query'),
    'enforcement-level': flags.oneOf('level', v2.ENFORCEMENT_LEVELS[attributes.kind]),
  })
  await client.v2.updatePolicy({ params: { policy_id: id }, body: resource('policies', changed) })
  return await showPolicy(invocation, id)
}

export async function runPolicyUpload(invocation: Invocation): Promise<number> {
  const { client, flags } = invocation
  const [name = '', file = ''] = invocation.args
  const { id } = await findPolicy(invocation, name)
  await client.v2.uploadPolicy({
    params: { policy_id: id },
    query: { validate: flags.has('strict') ? 'strict' : undefined },
    body: await fileBytes(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX }),
  })
  return await showPolicy(invocation, id)
}

export async function runPolicyDelete(invocation: Invocation): Promise<number> {
  const { id, attributes } = await findPolicy(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete policy "${attributes.name}"?`)
  await invocation.client.v2.deletePolicy({ params: { policy_id: id } })
  invocation.output.say(`Policy "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}
