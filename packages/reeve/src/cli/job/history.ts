import { originText, type JobDiff } from '@reeve/contract'
import type { DataOf } from '@reeve/sdk'
import type { V1Routes } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { truncateToWidth } from '../output/style.ts'
import { renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { formatDiff } from '../plan/diff-text.ts'
import { findJob } from './find-job.ts'

type Version = DataOf<V1Routes['listJobVersions']>['Versions'][number]

interface VersionView {
  readonly version: Version
  readonly diff: JobDiff | undefined
}

/** `job history`: lists the versions of a job and their changes. */
export async function runJobHistory(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const comparedVersion = flags.integer('diff-version')
  const tag = flags.string('diff-tag')
  const hasDiffs = flags.has('diff') || comparedVersion !== undefined || tag !== undefined
  const { data } = await client.v1.listJobVersions({
    params: { job_id: ID },
    query: { namespace: Namespace, diffs: hasDiffs, diff_version: comparedVersion, diff_tag: tag },
  })
  const all = data.Versions.map((version, at): VersionView => ({ version, diff: data.Diffs?.[at] }))
  const shown = selectVersion(all, flags.integer('version'), ID)
  const json = shown.map(({ version, diff }) => ({
    ...version,
    ...(hasDiffs ? { Diff: diff ?? null } : {}),
  }))
  output.print(json, () =>
    hasDiffs ? formatVersionDiffs(shown, invocation) : formatVersionList(shown, invocation),
  )
  return EXIT_CODES.ok
}

function selectVersion(
  all: readonly VersionView[],
  wanted: number | undefined,
  jobId: string,
): readonly VersionView[] {
  if (wanted === undefined) return all
  const found = all.filter(({ version }) => version.Version === wanted)
  if (found.length > 0) return found
  throw new CommandError(`Job "${jobId}" has no version ${wanted}.`, {
    code: EXIT_CODES.missing,
    hint: `It has ${all.map(({ version }) => version.Version).join(', ')}.`,
  })
}

function formatVersionList(
  shown: readonly VersionView[],
  { host, output }: CommandContext,
): string {
  const rows = shown.map(({ version }) => [
    String(version.Version),
    version.Stable ? output.paint('good', 'stable') : '',
    version.Stop ? 'stopped' : '',
    agoFromNs(version.SubmitTime, host.nowMs()),
    originText(version),
    truncateToWidth(escapeControlCharacters(version.Message ?? ''), MESSAGE_CHARS_SHOWN),
    version.VersionTag === null
      ? ''
      : escapeControlCharacters(`${version.VersionTag.Name} ${version.VersionTag.Description}`),
  ])
  return renderTable(
    ['Version', 'Stable', 'Stopped', 'Submitted', 'Origin', 'Message', 'Tag'],
    rows,
  )
}

/** `--json` and `--diff` show the whole message. */
const MESSAGE_CHARS_SHOWN = 60

function formatVersionDiffs(
  shown: readonly VersionView[],
  { flags, host, output }: CommandContext,
): string {
  return shown
    .map(({ version, diff }) => {
      const ago = agoFromNs(version.SubmitTime, host.nowMs())
      const head = output.paint(
        'strong',
        [
          `Version ${version.Version}, submitted ${ago}`,
          originText(version),
          escapeControlCharacters(version.Message ?? ''),
        ]
          .filter(Boolean)
          .join(', '),
      )
      return `${head}\n${diff === undefined ? 'The first that is known.\n' : formatDiff(diff, { paint: output.paint, isVerbose: flags.has('verbose') })}`
    })
    .join('\n')
}
