import { join } from 'node:path'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Owner } from '../store/beneath.ts'
import { placeInTask, type PlaceBelow } from '../store/task-place.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { findUser } from '../user.ts'
import { pause, Slots } from '../wait.ts'
import { AllocationDisks, type AllocationDisk } from './allocation-disk.ts'
import { fetchArtifact, type ArtifactRequest, type ArtifactSettings } from './fetch-artifact.ts'
import { FetcherSlots } from './fetcher-slots.ts'
import { artifactFault } from './source.ts'

type Artifact = NonNullable<TaskHookContext['task']['Artifacts']>[number]

/** For a node whose operator configures nothing. */
const DEFAULT_SETTINGS: ArtifactSettings = {
  allowsFiles: false,
  allowsLocal: false,
  timeoutMs: AGENT_LIMITS.artifactMsMax,
  entriesMax: AGENT_LIMITS.artifactEntriesMax,
}

/** What all tasks of a node share. */
interface Sharing {
  readonly settings: ArtifactSettings
  readonly slots: FetcherSlots
  readonly disks: AllocationDisks
}

/** Fetches the artifacts of a task before its first start. */
export function artifactHook(settings: Partial<ArtifactSettings> = {}): TaskHook {
  const sharing: Sharing = {
    settings: { ...DEFAULT_SETTINGS, ...settings },
    slots: new FetcherSlots(),
    disks: new AllocationDisks(),
  }
  return {
    name: 'artifacts',
    once: true,
    announces: 'Client is downloading artifacts',
    announcesAs: 'Downloading Artifacts',
    applies: ({ task }) => (task.Artifacts ?? []).length > 0,
    beforeStart: (context) => fetchAll(context, sharing),
  }
}

async function fetchAll(context: TaskHookContext, sharing: Sharing): Promise<void> {
  const { task, workspace, assignment } = context
  const { ID } = assignment.allocation
  const owner = await ownerOf(context)
  const requests = (task.Artifacts ?? []).map((artifact) => resolve(artifact, context, owner))
  const measure = (): Promise<number> => workspace.measure(ID)
  const totalBytes = diskBytes(assignment.group.EphemeralDisk?.SizeMB ?? 0)
  // The first failure ends the others: the task starts with all of them or not at all.
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const inTask = new Slots(AGENT_LIMITS.artifactsInFlightMax)
  await sharing.disks.use(ID, { totalBytes, measure }, async (disk) => {
    const fetches = requests.map((request, index) =>
      inTask
        .run(() => fetchOne({ request, index, disk, signal }, context, sharing))
        .catch((thrown: unknown) => {
          stop.abort(thrown)
          throw thrown
        }),
    )
    // None may go on behind the task's back: its directory may be removed next.
    const outcomes = await Promise.allSettled(fetches)
    if (outcomes.some(({ status }) => status === 'rejected')) throw stop.signal.reason
  })
}

/** A group without a size has the largest that this node allows. */
function diskBytes(sizeMB: number): number {
  const bytes = sizeMB * 1024 ** 2
  return bytes > 0 ? Math.min(bytes, AGENT_LIMITS.artifactBytesMax) : AGENT_LIMITS.artifactBytesMax
}

interface OneFetch {
  readonly request: ArtifactRequest
  readonly index: number
  readonly disk: AllocationDisk
  readonly signal: AbortSignal
}

async function fetchOne(
  { request, index, disk, signal }: OneFetch,
  { task, workspace, assignment, clock }: TaskHookContext,
  { settings, slots }: Sharing,
): Promise<void> {
  const { ID, Namespace } = assignment.allocation
  // No task has a name that begins with a dot.
  const staging = join(workspace.allocationDir(ID), `.fetch-${task.Name}-${index}`)
  await slots.run(Namespace, signal, async (slot) => {
    const share = disk.begin()
    const deadline = startDeadline(request, { clock, timeoutMs: settings.timeoutMs, signal })
    let stays = false
    try {
      const limits = { staging, settings, slot, disk: share }
      await fetchArtifact(request, { ...limits, signal: deadline.signal })
      stays = true
    } finally {
      share.end({ stays })
      await deadline.end()
    }
  })
}

interface DeadlineOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

function startDeadline(
  request: ArtifactRequest,
  { clock, timeoutMs, signal }: DeadlineOptions,
): { readonly signal: AbortSignal; end(): Promise<void> } {
  const late = new AbortController()
  const over = new AbortController()
  const watch = async (): Promise<void> => {
    const isLate = await pause(clock, timeoutMs, AbortSignal.any([signal, over.signal]))
    const message = `it was not fetched within ${timeoutMs / 1_000} s (client.artifact.timeout)`
    if (isLate) late.abort(artifactFault(request.source, new Fault('task-artifact', message)))
  }
  const waiting = watch()
  return {
    signal: AbortSignal.any([signal, late.signal]),
    async end() {
      over.abort()
      await waiting
    },
  }
}

/** Who gets the files of artifacts with `chown`. */
async function ownerOf({ task, runsAs }: TaskHookContext): Promise<Owner | undefined> {
  const isAsked = (task.Artifacts ?? []).some(({ Chown }) => Chown)
  return isAsked && runsAs !== '' ? findUser(runsAs) : undefined
}

function resolve(
  artifact: Artifact,
  context: TaskHookContext,
  owner: Owner | undefined,
): ArtifactRequest {
  const { interpolator } = context.environment
  const text = (value: string): string => interpolator.text(value, 'Artifacts')
  const texts = (values: Readonly<Record<string, string>> | null): Record<string, string> => {
    return Object.fromEntries(
      Object.entries(values ?? {}).map(([key, value]) => [key, text(value)]),
    )
  }
  const source = text(artifact.GetterSource)
  return {
    source,
    options: texts(artifact.GetterOptions),
    headers: texts(artifact.GetterHeaders),
    mode: artifact.GetterMode === '' ? 'any' : artifact.GetterMode,
    insecure: artifact.GetterInsecure,
    destination: destinationOf(source, text(artifact.RelativeDest || 'local/'), context),
    owner: artifact.Chown ? owner : undefined,
  }
}

function destinationOf(source: string, path: string, context: TaskHookContext): PlaceBelow {
  try {
    return placeInTask(path, context)
  } catch (thrown) {
    throw artifactFault(source, thrown)
  }
}
