import type { Input, Job, Task, TaskGroup, VolumeRequest } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import { placementRules } from './canonicalize-constraint.ts'
import { canonicalizeDiscovery } from './canonicalize-identity.ts'
import { canonicalizeNetwork } from './canonicalize-network.ts'
import { canonicalizeScaling } from './canonicalize-scaling.ts'
import { canonicalizeService } from './canonicalize-service.ts'
import { canonicalizeTask } from './canonicalize-task.ts'
import { withSignals } from './signal-constraint.ts'
import {
  disconnectStrategy,
  ephemeralDisk,
  migrateStrategy,
  reschedulePolicy,
  restartPolicy,
  updateStrategy,
} from './policy-defaults.ts'
import { isUnset, listOrNull, mapOrNull, textMapOrNull, textsOrNull } from './unset.ts'

/** The properties of a job that its groups inherit. */
export interface JobParent {
  readonly input: Input<Job>
  readonly id: string
  readonly name: string
  readonly type: string
  readonly namespace: string
}

export function* canonicalizeGroup(input: Input<TaskGroup>, job: JobParent): Steps<TaskGroup> {
  const name = input.Name ?? ''
  const count = input.Count ?? input.Scaling?.Min ?? 1
  const layers = { type: job.type, job: job.input, group: input }
  const restart = restartPolicy(layers)
  const target = { Namespace: job.namespace, Job: job.id, Group: name }
  const parent = { job: job.name, namespace: job.namespace, group: name, restart, target }
  const tasks: Task[] = []
  for (const task of input.Tasks ?? []) {
    tasks.push(canonicalizeTask(task, parent))
    yield
  }
  const rules = placementRules(input)
  return {
    Name: name,
    Count: count,
    ...rules,
    Constraints: withSignals(rules.Constraints, tasks),
    RestartPolicy: restart,
    ReschedulePolicy: reschedulePolicy(layers),
    Migrate: migrateStrategy(layers),
    Update: updateStrategy(layers),
    EphemeralDisk: ephemeralDisk(layers),
    Disconnect: disconnectStrategy(layers),
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
    Volumes: mapOrNull(input.Volumes, volume),
    Discovery: canonicalizeDiscovery(input.Discovery),
    Meta: textMapOrNull(input.Meta),
    Tasks: tasks,
  }
}

function volume(input: Input<VolumeRequest> | null | undefined, label: string): VolumeRequest {
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
      : { FSType: options.FSType ?? '', MountFlags: textsOrNull(options.MountFlags) },
    PerAlloc: input?.PerAlloc ?? false,
  }
}
