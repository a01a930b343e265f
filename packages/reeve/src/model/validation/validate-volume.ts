import {
  HOST_VOLUME_ACCESS_MODES,
  VOLUME_ATTACHMENT_MODES,
  type Job,
  type TaskGroup,
  type VolumeRequest,
} from '@reeve/contract'
import { isSystemType } from '../job/job-type.ts'
import { checkUnsupportedVolume } from './unsupported.ts'
import { concatIssues, issue, nestIssues, quote, issueIf, type ValidationIssue } from './finding.ts'

const CSI_ACCESS_MODES: readonly string[] = [
  'single-node-reader-only',
  'single-node-writer',
  'multi-node-reader-only',
  'multi-node-single-writer',
  'multi-node-multi-writer',
]

/** Multi-node modes are accepted too; a host volume is always on one node. */
const HOST_ACCESS_MODES: readonly string[] = [...HOST_VOLUME_ACCESS_MODES, ...CSI_ACCESS_MODES]
const ATTACHMENT_MODES: readonly string[] = VOLUME_ATTACHMENT_MODES

export function checkVolumes(group: TaskGroup, path: string, job: Job): readonly ValidationIssue[] {
  return Object.entries(group.Volumes ?? {}).flatMap(([label, volume]) => {
    const at = `${path}.Volumes[${label}]`
    return nestIssues(
      at,
      `Task group volume validation for ${label} failed`,
      concatIssues(
        checkVolume(volume, at),
        checkUnsupportedVolume(volume, at),
        checkPerAllocation(volume, at, { group, job }),
      ),
    )
  })
}

function checkVolume(volume: VolumeRequest, path: string): readonly ValidationIssue[] {
  const { Type: type, AccessMode: access, AttachmentMode: attachment } = volume
  const isCsi = type === 'csi'
  return concatIssues(
    issueIf(volume.Source === '' && issue(`${path}.Source`, 'volume has an empty source')),
    issueIf(
      type !== 'host' &&
        !isCsi &&
        issue(`${path}.Type`, `volume has unrecognized type ${quote(type)}`),
    ),
    issueIf(
      type === 'host' &&
        volume.MountOptions !== null &&
        issue(`${path}.MountOptions`, 'host volumes cannot have mount options'),
    ),
    issueIf(
      isCsi &&
        volume.Sticky &&
        issue(`${path}.Sticky`, 'CSI volumes cannot be sticky: they follow their claim'),
    ),
    issueIf(
      (isCsi
        ? !CSI_ACCESS_MODES.includes(access)
        : access !== '' && !HOST_ACCESS_MODES.includes(access)) &&
        issue(`${path}.AccessMode`, `volume has unrecognized access mode ${quote(access)}`),
    ),
    issueIf(
      (isCsi
        ? !ATTACHMENT_MODES.includes(attachment)
        : attachment !== '' && !ATTACHMENT_MODES.includes(attachment)) &&
        issue(
          `${path}.AttachmentMode`,
          `volume has unrecognized attachment mode ${quote(attachment)}`,
        ),
    ),
    issueIf(
      !volume.ReadOnly &&
        access.endsWith('reader-only') &&
        issue(`${path}.ReadOnly`, `volume with access mode ${quote(access)} must be read-only`),
    ),
  )
}

/** Per-allocation volumes need unique and stable name indexes. */
function checkPerAllocation(
  volume: VolumeRequest,
  path: string,
  { group, job }: { readonly group: TaskGroup; readonly job: Job },
): readonly ValidationIssue[] {
  if (!volume.PerAlloc) return []
  const at = `${path}.PerAlloc`
  return concatIssues(
    issueIf(
      isSystemType(job.Type) && issue(at, 'volume cannot be per_alloc for system or sysbatch jobs'),
    ),
    issueIf(
      (group.Update?.Canary ?? 0) > 0 &&
        issue(at, 'volume cannot be per_alloc when canaries are in use'),
    ),
    issueIf(volume.Sticky && issue(at, 'volume cannot be both per_alloc and sticky')),
  )
}
