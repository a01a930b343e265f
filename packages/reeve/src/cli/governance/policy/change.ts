import { basename, extname } from 'node:path'
import { v2 } from '@reeve/contract'
import { resource, toMany } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { confirm } from '../../confirm.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { UsageError } from '../../failure.ts'
import { readFileOrStdin } from '../../input.ts'
import { findPolicy, findPolicySet } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { omitUndefined } from '../texts.ts'
import { printPolicy } from './policy.ts'

/** `policy create`: reads the file first, so that no policy without code is created. */
export async function runPolicyCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const [file = ''] = args
  const code = await readFileOrStdin(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX })
  const kind = flags.oneOf('kind', v2.POLICY_KINDS) ?? kindFromFileName(file)
  const name = flags.string('name') ?? basename(file, extname(file))
  if (name === '-') throw new UsageError('Code from standard input needs --name.')
  const level = flags.oneOf('level', v2.ENFORCEMENT_LEVELS[kind])
  const sets = await Promise.all(
    flags.strings('set').map(async (set) => (await findPolicySet(invocation, set)).id),
  )
  const { data } = await client.v2.createPolicy({
    params: await resolveOrganization(invocation),
    body: resource(
      'policies',
      {
        name,
        kind,
        'enforcement-level': level ?? 'advisory',
        ...omitUndefined({
          description: flags.string('description'),
          query: flags.string('query'),
        }),
      },
      { 'policy-sets': toMany('policy-sets', sets) },
    ),
  })
  const { id } = data.data
  await client.v2.uploadPolicy({ params: { policy_id: id }, body: code })
  return await printPolicy(invocation, id)
}

function kindFromFileName(file: string): v2.PolicyKind {
  const kind = v2.POLICY_KINDS.find((one) => file.endsWith(v2.POLICY_FILE_SUFFIXES[one]))
  if (kind !== undefined) return kind
  throw new UsageError(`"${file}" ends neither with .native nor with .rego: give --kind.`)
}

export async function runPolicyUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id, attributes } = await findPolicy(invocation, args[0] ?? '')
  const attributesToUpdate = omitUndefined({
    description: flags.string('description'),
    query: flags.string('query'),
    'enforcement-level': flags.oneOf('level', v2.ENFORCEMENT_LEVELS[attributes.kind]),
  })
  await client.v2.updatePolicy({
    params: { policy_id: id },
    body: resource('policies', attributesToUpdate),
  })
  return await printPolicy(invocation, id)
}

export async function runPolicyUpload(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const [name = '', file = ''] = invocation.args
  const { id } = await findPolicy(invocation, name)
  await client.v2.uploadPolicy({
    params: { policy_id: id },
    query: { validate: flags.has('strict') ? 'strict' : undefined },
    body: await readFileOrStdin(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX }),
  })
  return await printPolicy(invocation, id)
}

export async function runPolicyDelete(invocation: CommandContext): Promise<number> {
  const { id, attributes } = await findPolicy(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete policy "${attributes.name}"?`)
  await invocation.client.v2.deletePolicy({ params: { policy_id: id } })
  invocation.output.printLine(`Policy "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}
