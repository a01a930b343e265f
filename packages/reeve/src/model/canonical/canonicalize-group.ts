import type { Input, Job, Task, TaskGroup, VolumeRequest } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { canonicalizePlacement } from './canonicalize-constraint.ts'
import { canonicalizeDiscovery } from './canonicalize-identity.ts'
import { canonicalizeNetwork } from './canonicalize-network.ts'
import { canonicalizeScaling } from './canonicalize-scaling.ts'
import { canonicalizeService } from './canonicalize-service.ts'
import { canonicalizeTask } from './canonicalize-task.ts'
import { withSignalConstraint } from './signal-constraint.ts'
import {
  canonicalizeDisconnect,
  canonicalizeEphemeralDisk,
  canonicalizeMigrate,
  canonicalizeReschedule,
  canonicalizeRestart,
  canonicalizeUpdate,
} from './policy-defaults.ts'
import { isUnset, listOrNull, mapOrNull, stringMapOrNull, stringsOrNull } from './unset.ts'

/** The properties of a job that its groups inherit. */
export interface InheritedJobFields {
  readonly input: Input<Job>
  readonly id: string
  readonly name: string
  readonly type: string
  readonly namespace: string
}

export function* canonicalizeGroup(
  input: Input<TaskGroup>,
  job: InheritedJobFields,
): Steps<TaskGroup> {
  const name = input.Name ?? ''
  const count = input.Count ?? input.Scaling?.Min ?? 1
  const inputs = { type: job.type, job: job.input, group: input }
  const restart = canonicalizeRestart(inputs)
  const target = { Namespace: job.namespace, Job: job.id, Group: name }
  const parent = { job: job.name, namespace: job.namespace, group: name, restart, target }
  const tasks: Task[] = []
  for (const task of input.Tasks ?? []) {
    tasks.push(canonicalizeTask(task, parent))
    yield
  }
  const placement = canonicalizePlacement(input)
  return {
    Name: name,
    Count: count,
    ...placement,
    Constraints: withSignalConstraint(placement.Constraints, tasks),
    RestartPolicy: restart,
    ReschedulePolicy: canonicalizeReschedule(inputs),
    Migrate: canonicalizeMigrate(inputs),
    Update: canonicalizeUpdate(inputs),
    EphemeralDisk: canonicalizeEphemeralDisk(inputs),
    Disconnect: canonicalizeDisconnect(inputs),
    Networks: listOrNull(input.Networks, canonicalizeNetwork),
    Services: listOrNull(input.Services, (service) => canonicalizeService(service, parent)),
    Scaling: isUnset(input.Scaling)
      ? null
      : canonicalizeScaling(input.Scaling, { type: 'horizontal', min: count, target }),
    ShutdownDelay: input.ShutdownDelay ?? null,
    StopAfterClientDisconnect: input.StopAfterClientDisconnect ?? null,
    MaxClientDisconnect: input.MaxClientDisconnect ?? null,
    MaxRunDuration: input.MaxRunDuration ?? null,
    PreventRescheduleOnLost: input.PreventRescheduleOnLost ?? false,
    Volumes: mapOrNull(input.Volumes, canonicalizeVolume),
    Discovery: canonicalizeDiscovery(input.Discovery),
    Meta: stringMapOrNull(input.Meta),
    Tasks: tasks,
  }
}

function canonicalizeVolume(
  input: Input<VolumeRequest> | null | undefined,
  label: string,
): VolumeRequest {
  const options = input?.MountOptions
  return {
    Name: input?.Name ?? label,
    Type: input?.Type ?? '',
    Source: input?.Source ?? '',
    ReadOnly: input?.ReadOnly ?? false,
    Sticky: input?.Sticky ?? false,
    AccessMode: input?.AccessMode ?? '',
    AttachmentMode: input?.AttachmentMode ?? '',
    MountOptions: isUnset(options)
      ? null
      : { FSType: options.FSType ?? '', MountFlags: stringsOrNull(options.MountFlags) },
    PerAlloc: input?.PerAlloc ?? false,
  }
}
