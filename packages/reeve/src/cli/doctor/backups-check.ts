import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import type { Finding } from './finding.ts'

/** Intervals without a backup that are tolerated. */
const INTERVALS_MAX = 2

/** Age of the last verified backup, if backups are on (docs/how-to/back-up-and-restore.md). */
export async function checkBackups({ client }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.readAgentSelf()
    return backupFindings(data.stats['backup'])
  } catch (thrown) {
    // Other checks report the missing permission.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

export function backupFindings(
  stats: Readonly<Record<string, string>> | undefined,
): readonly Finding[] {
  if (stats === undefined) return []
  const { target = '', error = '', last_good: last = '' } = stats
  const ageSeconds = Number(stats['age_seconds'] ?? 0)
  const limit = Number(stats['interval_seconds'] ?? 0) * INTERVALS_MAX
  const age =
    last === ''
      ? 'There is no verified backup yet'
      : `The last verified backup is ${formatBackupAge(ageSeconds)} old`
  const what = `${age} (${target})${error === '' ? '.' : `: ${error}`}`
  if (error === '' && ageSeconds <= limit) return [{ state: 'ok', what, next: undefined }]
  return [
    {
      state: ageSeconds > limit ? 'bad' : 'warning',
      what,
      next: 'Check the settings under backup and the log of the leading server.',
    },
  ]
}

function formatBackupAge(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}
