import type { AclPolicyRecord } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { knownFields } from '../output/known-fields.ts'
import { table } from '../output/table.ts'
import { fileText } from '../spec-file/file-text.ts'
import { findOrUndefined } from '../find-or-undefined.ts'

export async function runAclPolicyList({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.listAclPolicies()
  output.show(data, () => {
    if (data.length === 0) return 'There are no policies that the token may read.'
    const rows = data.map(({ Name, Description }) => [Name, Description])
    return table(['Name', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

export async function runAclPolicyRead({ args, client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.readAclPolicy({ params: { policy_name: args[0] ?? '' } })
  output.show(data, () => policyText(data))
  return EXIT_CODES.ok
}

export async function runAclPolicySelf({ client, output }: Invocation): Promise<number> {
  const { data } = await client.v1.listOwnAclPolicies()
  output.show(data, () =>
    data.length === 0
      ? 'The token has no policies: a management token has full access.'
      : data.map(policyText).join('\n'),
  )
  return EXIT_CODES.ok
}

function policyText({ Name, Description, JobACL, Rules }: AclPolicyRecord): string {
  const workload =
    JobACL === null
      ? ''
      : [JobACL.Namespace, JobACL.JobID, JobACL.Group, JobACL.Task]
          .filter((part) => part !== '')
          .join(' / ')
  const about = knownFields([
    ['Name', Name],
    ['Description', Description],
    ['Workload', workload],
  ])
  return `${about}\nRules\n${Rules.trim()}\n`
}

export async function runAclPolicyApply(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const [Name = '', path = ''] = args
  const Rules = await fileText(invocation, path)
  const params = { policy_name: Name }
  const known = await findOrUndefined(() => client.v1.readAclPolicy({ params }))
  const Description = flags.text('description') ?? known?.data.Description ?? ''
  const JobACL = workloadOf(invocation) ?? known?.data.JobACL ?? null
  await client.v1.writeAclPolicy({ params, body: { Name, Description, Rules, JobACL } })
  output.say(`Policy "${Name}" is stored.`)
  return EXIT_CODES.ok
}

/** The workload whose identity has the policy. */
function workloadOf({ flags, settings }: Invocation) {
  const JobID = flags.text('job')
  if (JobID === undefined) return undefined
  const Group = flags.text('group') ?? ''
  const Task = flags.text('task') ?? ''
  return { Namespace: settings.namespace ?? 'default', JobID, Group, Task }
}

export async function runAclPolicyDelete({ args, client, output }: Invocation): Promise<number> {
  const name = args[0] ?? ''
  // Deleting what is not there is no fault of the API; a person should know that it was not.
  await client.v1.readAclPolicy({ params: { policy_name: name } })
  await client.v1.deleteAclPolicy({ params: { policy_name: name } })
  output.say(`Policy "${name}" is deleted.`)
  return EXIT_CODES.ok
}
