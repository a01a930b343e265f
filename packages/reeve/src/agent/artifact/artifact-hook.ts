import { join } from 'node:path'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Owner } from '../store/safe-directory.ts'
import { resolveTaskPath, type ContainedPath } from '../store/workspace.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { getHostUser } from '../host-user.ts'
import { sleep, Semaphore } from '../timing.ts'
import { AllocationDisks, type AllocationDisk } from './disk-budget.ts'
import { fetchArtifact, type ArtifactRequest, type ArtifactSettings } from './fetch-artifact.ts'
import { artifactFault } from './source.ts'

type Artifact = NonNullable<TaskHookContext['task']['Artifacts']>[number]

/** Settings of a node without configuration. */
const DEFAULT_SETTINGS: ArtifactSettings = {
  allowsFiles: false,
  allowsLocal: false,
  timeoutMs: AGENT_LIMITS.artifactTimeoutMs,
  entriesMax: AGENT_LIMITS.artifactEntriesMax,
}

/** State that all tasks of a node share. */
interface SharedFetchState {
  readonly settings: ArtifactSettings
  readonly slots: FetcherSlots
  readonly disks: AllocationDisks
}

/** Fetches the artifacts of a task before its first start. */
export function newArtifactHook(settings: Partial<ArtifactSettings> = {}): TaskHook {
  const shared: SharedFetchState = {
    settings: { ...DEFAULT_SETTINGS, ...settings },
    slots: new FetcherSlots(),
    disks: new AllocationDisks(),
  }
  return {
    name: 'artifacts',
    runsOnce: true,
    eventMessage: 'Client is downloading artifacts',
    eventType: 'Downloading Artifacts',
    applies: ({ task }) => (task.Artifacts ?? []).length > 0,
    beforeStart: (context) => fetchAll(context, shared),
  }
}

async function fetchAll(context: TaskHookContext, shared: SharedFetchState): Promise<void> {
  const { task, workspace, assignment } = context
  const { ID } = assignment.allocation
  const owner = await chownOwner(context)
  const requests = (task.Artifacts ?? []).map((artifact) =>
    resolveRequest(artifact, context, owner),
  )
  const measure = (): Promise<number> => workspace.allocationSize(ID)
  const totalBytes = allocationDiskBytes(assignment.group.EphemeralDisk?.SizeMB ?? 0)
  // The first failure aborts the others: a task starts with all of its artifacts or not at all.
  const abortAll = new AbortController()
  const signal = AbortSignal.any([context.signal, abortAll.signal])
  const taskSemaphore = new Semaphore(AGENT_LIMITS.artifactsInFlightMax)
  await shared.disks.use(ID, { totalBytes, measure }, async (disk) => {
    const fetches = requests.map((request, index) =>
      taskSemaphore
        .run(() => fetchOne({ request, index, disk, signal }, context, shared))
        .catch((thrown: unknown) => {
          abortAll.abort(thrown)
          throw thrown
        }),
    )
    // Waits for all fetches: the task's directory may be removed next.
    const outcomes = await Promise.allSettled(fetches)
    if (outcomes.some(({ status }) => status === 'rejected')) throw abortAll.signal.reason
  })
}

/** Disk limit of a group; without a size it is the largest that this node allows. */
function allocationDiskBytes(sizeMB: number): number {
  const bytes = sizeMB * 1024 ** 2
  return bytes > 0 ? Math.min(bytes, AGENT_LIMITS.artifactBytesMax) : AGENT_LIMITS.artifactBytesMax
}

interface IndexedFetch {
  readonly request: ArtifactRequest
  readonly index: number
  readonly disk: AllocationDisk
  readonly signal: AbortSignal
}

async function fetchOne(
  { request, index, disk, signal }: IndexedFetch,
  { task, workspace, assignment, clock }: TaskHookContext,
  { settings, slots }: SharedFetchState,
): Promise<void> {
  const { ID, Namespace } = assignment.allocation
  // No task has a name that begins with a dot.
  const staging = join(workspace.allocationDir(ID), `.fetch-${task.Name}-${index}`)
  await slots.run(Namespace, signal, async (slot) => {
    const reservation = disk.reserve()
    const deadline = startTimeout(request, { clock, timeoutMs: settings.timeoutMs, signal })
    let succeeded = false
    try {
      const limits = { staging, settings, slot, disk: reservation }
      await fetchArtifact(request, { ...limits, signal: deadline.signal })
      succeeded = true
    } finally {
      reservation.release({ stays: succeeded })
      await deadline.end()
    }
  })
}

interface FetchTimeoutOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

function startTimeout(
  request: ArtifactRequest,
  { clock, timeoutMs, signal }: FetchTimeoutOptions,
): { readonly signal: AbortSignal; end(): Promise<void> } {
  const timedOut = new AbortController()
  const cancelled = new AbortController()
  const waitForTimeout = async (): Promise<void> => {
    const hasTimedOut = await sleep(clock, timeoutMs, AbortSignal.any([signal, cancelled.signal]))
    const message = `it was not fetched within ${timeoutMs / 1_000} s (client.artifact.timeout)`
    if (hasTimedOut)
      timedOut.abort(artifactFault(request.source, new Fault('task-artifact', message)))
  }
  const watching = waitForTimeout()
  return {
    signal: AbortSignal.any([signal, timedOut.signal]),
    async end() {
      cancelled.abort()
      await watching
    },
  }
}

/** Owner of the files of artifacts with `chown`. */
async function chownOwner({ task, runsAs }: TaskHookContext): Promise<Owner | undefined> {
  const isChownRequested = (task.Artifacts ?? []).some(({ Chown }) => Chown)
  return isChownRequested && runsAs !== '' ? getHostUser(runsAs) : undefined
}

function resolveRequest(
  artifact: Artifact,
  context: TaskHookContext,
  owner: Owner | undefined,
): ArtifactRequest {
  const { interpolator } = context.environment
  const resolveString = (value: string): string => interpolator.resolve(value, 'Artifacts')
  const resolveStrings = (
    values: Readonly<Record<string, string>> | null,
  ): Record<string, string> => {
    return Object.fromEntries(
      Object.entries(values ?? {}).map(([key, value]) => [key, resolveString(value)]),
    )
  }
  const source = resolveString(artifact.GetterSource)
  return {
    source,
    options: resolveStrings(artifact.GetterOptions),
    headers: resolveStrings(artifact.GetterHeaders),
    mode: artifact.GetterMode === '' ? 'any' : artifact.GetterMode,
    insecure: artifact.GetterInsecure,
    destination: resolveDestination(
      source,
      resolveString(artifact.RelativeDest || 'local/'),
      context,
    ),
    owner: artifact.Chown ? owner : undefined,
  }
}

function resolveDestination(source: string, path: string, context: TaskHookContext): ContainedPath {
  try {
    return resolveTaskPath(path, context)
  } catch (thrown) {
    throw artifactFault(source, thrown)
  }
}

interface FetcherLimits {
  /** Fetchers of the node. */
  readonly fetchersMax: number
  readonly perNamespaceMax: number
}

interface FetcherWaiter {
  readonly namespace: string
  readonly admit: (slot: number) => void
}

const DEFAULT_FETCHER_LIMITS: FetcherLimits = {
  fetchersMax: AGENT_LIMITS.artifactFetchersMax,
  perNamespaceMax: AGENT_LIMITS.artifactFetchersPerNamespaceMax,
}

/**
 * Bounds the fetcher processes of a node. A namespace has a bound of its own: its downloads that
 * stall leave slots to the others. Within the bounds the order of arrival holds.
 */
export class FetcherSlots {
  readonly #limits: FetcherLimits
  /** By slot number, the namespace that holds it. */
  readonly #namespaceBySlot = new Map<number, string>()
  #waiting: readonly FetcherWaiter[] = []

  constructor(limits: FetcherLimits = DEFAULT_FETCHER_LIMITS) {
    this.#limits = limits
  }

  /** Waits for a slot; the signal ends the wait. */
  async run<T>(
    namespace: string,
    signal: AbortSignal,
    work: (slot: number) => Promise<T>,
  ): Promise<T> {
    const slot = await this.#acquire(namespace, signal)
    try {
      return await work(slot)
    } finally {
      this.#namespaceBySlot.delete(slot)
      this.#admitNext()
    }
  }

  async #acquire(namespace: string, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const waiter: FetcherWaiter = { namespace, admit: resolve }
    const abandon = (): void => {
      this.#waiting = this.#waiting.filter((other) => other !== waiter)
      reject(signal.reason)
    }
    signal.addEventListener('abort', abandon, { once: true })
    this.#waiting = [...this.#waiting, waiter]
    this.#admitNext()
    return promise.finally(() => signal.removeEventListener('abort', abandon))
  }

  #admitNext(): void {
    for (const waiter of this.#waiting) {
      if (this.#namespaceBySlot.size >= this.#limits.fetchersMax) return
      const namespaceSlots = [...this.#namespaceBySlot.values()].filter(
        (holder) => holder === waiter.namespace,
      )
      if (namespaceSlots.length >= this.#limits.perNamespaceMax) continue
      this.#waiting = this.#waiting.filter((other) => other !== waiter)
      const slot = this.#lowestFreeSlot()
      this.#namespaceBySlot.set(slot, waiter.namespace)
      waiter.admit(slot)
    }
  }

  #lowestFreeSlot(): number {
    let slot = 0
    while (this.#namespaceBySlot.has(slot)) slot += 1
    return slot
  }
}
