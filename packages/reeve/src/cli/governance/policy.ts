import { basename, extname } from 'node:path'
import { includedResources, type ItemOf, resource, toMany } from '@reeve/sdk'
import { v2 } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES, UsageError } from '../errors.ts'
import { readFileOrStdin, readJsonObject } from '../input.ts'
import { renderNonEmptyFields, joinSections, renderTable, agoFromIso } from '../output/format.ts'
import { createOutputWriter } from '../output/printable.ts'
import { findPolicy, findPolicySet } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { omitUndefined, printList } from './output.ts'
import { formatFinding } from './policy-results.ts'

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
    empty: 'There are no such policies. "reeve policy create FILE" creates one.',
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
async function printPolicy(invocation: CommandContext, policyId: string): Promise<number> {
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

/** `policy try POLICY INPUT`: evaluates a policy and prints its result and findings. */
export async function runPolicyTry(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const { id, attributes } = await findPolicy(invocation, name)
  const input = await readJsonObject(invocation, file, v2.PLAN_UPLOAD_BYTES_MAX)
  const { data } = await client.v2.tryPolicy({
    params: { policy_id: id },
    body: resource('policy-trials', { input, ...(await readOverrides(invocation)) }),
  })
  const { status, skipped, findings, diagnostics, warnings } = data.data.attributes
  const result = output.paint(status === 'passed' ? 'good' : 'bad', status)
  output.print(data, () =>
    [
      `Policy "${attributes.name}" ${skipped === undefined ? result : `was not asked: ${skipped}`}.`,
      ...findings.map((finding) => `  * ${formatFinding(finding)}`),
      ...diagnostics.map((one) => `  ${one.severity} ${one.line},${one.column}: ${one.message}`),
      ...warnings.map((warning) => `  warning: ${warning}`),
    ].join('\n'),
  )
  return status === 'passed' ? EXIT_CODES.ok : EXIT_CODES.refusedByPolicy
}

/** `policy replay POLICY`: evaluates a policy against past jobs and runs. */
export async function runPolicyReplay(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { id } = await findPolicy(invocation, invocation.args[0] ?? '')
  const attributes = {
    ...omitUndefined({ limit: flags.integer('limit') }),
    ...(await readOverrides(invocation)),
  }
  const { data } = await client.v2.replayPolicy({
    params: { policy_id: id },
    body: resource('policy-replays', attributes),
  })
  const { judged, results, 'would-deny': count } = data.data.attributes
  output.print(data, () => {
    const failedResults = results.filter((one) => one.status !== 'passed')
    const rows = failedResults.map((one) => [
      one.type === 'runs' ? 'run' : 'job',
      one.version === null ? one.id : `${one.id} version ${one.version}`,
      one['created-at'] ?? '',
      one.findings.map(formatFinding).join('; '),
    ])
    const warned = failedResults.length - count
    const head = `Of ${judged} it would have denied ${count}, and warned of ${warned}.`
    return `${head}${formatSkipped(results)}\n${renderTable(['', 'What', 'When', 'Why'], rows)}`
  })
  return EXIT_CODES.ok
}

function formatSkipped(results: readonly v2.ReplayedSubject[]): string {
  const reasons = results.flatMap(({ skipped }) => skipped ?? [])
  if (reasons.length === 0) return ''
  return ` It was not asked about ${reasons.length} more: ${[...new Set(reasons)].join(', ')}.`
}

/** Reads the flags that override the code and parameters of the stored policy. */
async function readOverrides(invocation: CommandContext) {
  const pairs = Object.entries(invocation.flags.keyValues('param'))
  const params = Object.fromEntries(pairs.map(([key, text]) => [key, parseParameter(text)]))
  return omitUndefined({
    code: await readCode(invocation),
    params: pairs.length === 0 ? undefined : params,
  })
}

/** Parses a parameter value as JSON, or else as text. */
function parseParameter(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function readCode(invocation: CommandContext): Promise<string | undefined> {
  const file = invocation.flags.string('code')
  if (file === undefined) return undefined
  const bytes = await readFileOrStdin(invocation, file, { bytesMax: v2.POLICY_UPLOAD_BYTES_MAX })
  return new TextDecoder().decode(bytes)
}
