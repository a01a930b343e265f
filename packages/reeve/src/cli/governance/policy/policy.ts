import { includedResources, type ItemOf } from '@reeve/sdk'
import { v2 } from '@reeve/contract'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields, joinSections } from '../../output/known-fields.ts'
import { createOutputWriter } from '../../output/printable.ts'
import { renderTable } from '../../output/table.ts'
import { agoFromIso } from '../../output/time.ts'
import { findPolicy } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { printList } from '../texts.ts'

type Policy = ItemOf<'listOrganizationPolicies'>

export async function runPolicyList(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const policies = client.pages('listOrganizationPolicies', {
    params: await resolveOrganization(invocation),
    query: {
      'filter[kind]': flags.oneOf('kind', v2.POLICY_KINDS),
      'search[name]': flags.string('search'),
    },
  })
  return await printList(invocation, policies, {
    heading: ['Name', 'Kind', 'Level', 'Sets', 'Code', 'ID'],
    row: ({ id, attributes }) => [
      attributes.name,
      attributes.kind,
      attributes['enforcement-level'],
      String(attributes['policy-set-count']),
      formatCodeStatus(attributes),
      id,
    ],
    empty: 'There are no such policies. "reeve policy create FILE" makes one.',
  })
}

function formatCodeStatus({ diagnostics, 'code-size': size }: Policy['attributes']): string {
  if (size === null) return 'none yet'
  const isBroken = diagnostics.some(({ severity }) => severity === 'error')
  return isBroken ? 'does not compile' : `${size} bytes`
}

export async function runPolicyShow(invocation: CommandContext): Promise<number> {
  const { id } = await findPolicy(invocation, invocation.args[0] ?? '')
  return await printPolicy(invocation, id)
}

/** Prints the current policy with its policy sets. */
export async function printPolicy(invocation: CommandContext, policyId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readPolicy({
    params: { policy_id: policyId },
    query: { include: 'policy_sets' },
  })
  const sets = includedResources(data, 'policy-sets').map((set) => set.attributes.name)
  output.print(data, () =>
    joinSections([policyText(data.data, sets), diagnosticsText(data.data.attributes)]),
  )
  return EXIT_CODES.ok
}

function policyText({ id, attributes }: Policy, sets: readonly string[]): string {
  return renderNonEmptyFields([
    ['Name', attributes.name],
    ['ID', id],
    ['Kind', attributes.kind],
    ['Level', attributes['enforcement-level']],
    ['Query', attributes.query ?? ''],
    ['Description', attributes.description ?? ''],
    ['Sets', sets.length === 0 ? 'none: it is not enforced' : sets.join(', ')],
    ['Code', formatCodeStatus(attributes)],
    ['Updated', attributes['updated-at'] ?? ''],
  ])
}

function diagnosticsText({ diagnostics }: Policy['attributes']): string {
  return diagnostics
    .map(({ severity, line, column, message }) => `${severity} ${line},${column}: ${message}`)
    .join('\n')
}

export async function runPolicyDownload(invocation: CommandContext): Promise<number> {
  const { client, flags, host } = invocation
  const { id } = await findPolicy(invocation, invocation.args[0] ?? '')
  const query = { version: flags.string('version') }
  const { data } = await client.v2.downloadPolicy({ params: { policy_id: id }, query })
  // Only responses to conditional requests have no body.
  if (data !== undefined) await createOutputWriter(host)(data)
  return EXIT_CODES.ok
}

export async function runPolicyVersions(invocation: CommandContext): Promise<number> {
  const { client, host, output } = invocation
  const { id, attributes } = await findPolicy(invocation, invocation.args[0] ?? '')
  const { data } = await client.v2.listPolicyVersions({ params: { policy_id: id } })
  const rows = data.data.map((version) => [
    version.id,
    agoFromIso(version.attributes['created-at'], host.nowMs()),
    version.relationships['created-by'].data?.id ?? '',
    String(version.attributes['code-size']),
    version.attributes['code-sha256'].slice(0, DIGEST_CHARS_SHOWN),
  ])
  output.print(data.data, () =>
    rows.length === 0
      ? `Policy "${attributes.name}" has no code yet: "reeve policy upload" brings some.`
      : renderTable(['Version', 'Uploaded', 'By', 'Bytes', 'SHA-256'], rows),
  )
  return EXIT_CODES.ok
}

/** Digits of the digest that distinguish uploads. */
const DIGEST_CHARS_SHOWN = 12
