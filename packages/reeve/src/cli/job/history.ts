import { originText, type JobDiff } from '@reeve/contract'
import type { DataOf } from '@reeve/sdk'
import type { V1Routes } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { printableName } from '../output/printable.ts'
import { cutTo } from '../output/style.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { diffText } from '../plan/diff-text.ts'
import { findJob } from './find-job.ts'

type Version = DataOf<V1Routes['listJobVersions']>['Versions'][number]

interface Shown {
  readonly version: Version
  readonly diff: JobDiff | undefined
}

/** `job history`: the versions of a job, and what each changed. */
export async function runJobHistory(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const compares = flags.whole('diff-version')
  const tag = flags.text('diff-tag')
  const hasDiffs = flags.has('diff') || compares !== undefined || tag !== undefined
  const { data } = await client.v1.listJobVersions({
    params: { job_id: ID },
    query: { namespace: Namespace, diffs: hasDiffs, diff_version: compares, diff_tag: tag },
  })
  const all = data.Versions.map((version, at): Shown => ({ version, diff: data.Diffs?.[at] }))
  const shown = only(all, flags.whole('version'), ID)
  const json = shown.map(({ version, diff }) => ({
    ...version,
    ...(hasDiffs ? { Diff: diff ?? null } : {}),
  }))
  output.show(json, () => (hasDiffs ? diffsText(shown, invocation) : listText(shown, invocation)))
  return EXIT_CODES.ok
}

function only(all: readonly Shown[], wanted: number | undefined, jobId: string): readonly Shown[] {
  if (wanted === undefined) return all
  const found = all.filter(({ version }) => version.Version === wanted)
  if (found.length > 0) return found
  throw new CommandFailure(`Job "${jobId}" has no version ${wanted}.`, {
    code: EXIT_CODES.missing,
    hint: `It has ${all.map(({ version }) => version.Version).join(', ')}.`,
  })
}

function listText(shown: readonly Shown[], { host, output }: Invocation): string {
  const rows = shown.map(({ version }) => [
    String(version.Version),
    version.Stable ? output.paint('good', 'stable') : '',
    version.Stop ? 'stopped' : '',
    agoFromNs(version.SubmitTime, host.nowMs()),
    originText(version),
    cutTo(printableName(version.Message ?? ''), MESSAGE_CHARS_SHOWN),
    version.VersionTag === null
      ? ''
      : printableName(`${version.VersionTag.Name} ${version.VersionTag.Description}`),
  ])
  return table(['Version', 'Stable', 'Stopped', 'Submitted', 'Origin', 'Message', 'Tag'], rows)
}

/** `--json` and `--diff` show the whole message. */
const MESSAGE_CHARS_SHOWN = 60

function diffsText(shown: readonly Shown[], { flags, host, output }: Invocation): string {
  return shown
    .map(({ version, diff }) => {
      const ago = agoFromNs(version.SubmitTime, host.nowMs())
      const head = output.paint(
        'strong',
        [
          `Version ${version.Version}, submitted ${ago}`,
          originText(version),
          printableName(version.Message ?? ''),
        ]
          .filter(Boolean)
          .join(', '),
      )
      return `${head}\n${diff === undefined ? 'The first that is known.\n' : diffText(diff, { paint: output.paint, isVerbose: flags.has('verbose') })}`
    })
    .join('\n')
}
