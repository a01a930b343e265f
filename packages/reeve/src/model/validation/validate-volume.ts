import {
  HOST_VOLUME_ACCESS_MODES,
  VOLUME_ATTACHMENT_MODES,
  type Job,
  type TaskGroup,
  type VolumeRequest,
} from '@reeve/contract'
import { isSystemType } from '../job/job-type.ts'
import { checkUnsupportedVolume } from './unsupported.ts'
import { allOf, finding, nest, quote, when, type Finding } from './finding.ts'

const CSI_ACCESS_MODES: readonly string[] = [
  'single-node-reader-only',
  'single-node-writer',
  'multi-node-reader-only',
  'multi-node-single-writer',
  'multi-node-multi-writer',
]

/** Those of several nodes are accepted too: a volume of a host is on one. */
const HOST_ACCESS_MODES: readonly string[] = [...HOST_VOLUME_ACCESS_MODES, ...CSI_ACCESS_MODES]
const ATTACHMENT_MODES: readonly string[] = VOLUME_ATTACHMENT_MODES

export function checkVolumes(group: TaskGroup, path: string, job: Job): readonly Finding[] {
  return Object.entries(group.Volumes ?? {}).flatMap(([label, volume]) => {
    const at = `${path}.Volumes[${label}]`
    return nest(
      at,
      `Task group volume validation for ${label} failed`,
      allOf(
        checkVolume(volume, at),
        checkUnsupportedVolume(volume, at),
        checkPerAllocation(volume, at, { group, job }),
      ),
    )
  })
}

function checkVolume(volume: VolumeRequest, path: string): readonly Finding[] {
  const { Type: type, AccessMode: access, AttachmentMode: attachment } = volume
  const external = type === 'csi'
  return allOf(
    when(volume.Source === '' && finding(`${path}.Source`, 'volume has an empty source')),
    when(
      type !== 'host' &&
        !external &&
        finding(`${path}.Type`, `volume has unrecognized type ${quote(type)}`),
    ),
    when(
      type === 'host' &&
        volume.MountOptions !== null &&
        finding(`${path}.MountOptions`, 'host volumes cannot have mount options'),
    ),
    when(
      external &&
        volume.Sticky &&
        finding(`${path}.Sticky`, 'CSI volumes cannot be sticky: they follow their claim'),
    ),
    when(
      (external
        ? !CSI_ACCESS_MODES.includes(access)
        : access !== '' && !HOST_ACCESS_MODES.includes(access)) &&
        finding(`${path}.AccessMode`, `volume has unrecognized access mode ${quote(access)}`),
    ),
    when(
      (external
        ? !ATTACHMENT_MODES.includes(attachment)
        : attachment !== '' && !ATTACHMENT_MODES.includes(attachment)) &&
        finding(
          `${path}.AttachmentMode`,
          `volume has unrecognized attachment mode ${quote(attachment)}`,
        ),
    ),
    when(
      !volume.ReadOnly &&
        access.endsWith('reader-only') &&
        finding(`${path}.ReadOnly`, `volume with access mode ${quote(access)} must be read-only`),
    ),
  )
}

/**
 * A volume for each allocation needs names that stay: one each, and never two of the same index.
 */
function checkPerAllocation(
  volume: VolumeRequest,
  path: string,
  { group, job }: { readonly group: TaskGroup; readonly job: Job },
): readonly Finding[] {
  if (!volume.PerAlloc) return []
  const at = `${path}.PerAlloc`
  return allOf(
    when(
      isSystemType(job.Type) &&
        finding(at, 'volume cannot be per_alloc for system or sysbatch jobs'),
    ),
    when(
      (group.Update?.Canary ?? 0) > 0 &&
        finding(at, 'volume cannot be per_alloc when canaries are in use'),
    ),
    when(volume.Sticky && finding(at, 'volume cannot be both per_alloc and sticky')),
  )
}
