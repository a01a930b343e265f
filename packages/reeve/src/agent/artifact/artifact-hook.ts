import type { Clock } from '../../kit/clock.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Owner } from '../store/beneath.ts'
import { placeInTask, type PlaceBelow } from '../store/task-place.ts'
import type { TaskHook, TaskHookContext } from '../task/task-hook.ts'
import { findUser } from '../user.ts'
import { pause, Slots } from '../wait.ts'
import { fetchArtifact, type ArtifactRequest } from './fetch-artifact.ts'
import { artifactFault } from './source.ts'

type Artifact = NonNullable<TaskHookContext['task']['Artifacts']>[number]

/** Reference scheduling §31: fetches what the task names before its first start. */
export function artifactHook({ allowsFiles }: { readonly allowsFiles: boolean }): TaskHook {
  return {
    name: 'artifacts',
    once: true,
    announces: 'Client is downloading artifacts',
    announcesAs: 'Downloading Artifacts',
    applies: ({ task }) => (task.Artifacts ?? []).length > 0,
    beforeStart: (context) => fetchAll(context, allowsFiles),
  }
}

async function fetchAll(context: TaskHookContext, allowsFiles: boolean): Promise<void> {
  const { task, workspace, assignment, clock } = context
  const stagingRoot = workspace.allocationDir(assignment.allocation.ID)
  const owner = await ownerOf(context)
  const requests = (task.Artifacts ?? []).map((artifact) => resolve(artifact, context, owner))
  const slots = new Slots(AGENT_LIMITS.artifactsInFlightMax)
  // The first failure ends the others: the task starts with all of them or not at all.
  const stop = new AbortController()
  const signal = AbortSignal.any([context.signal, stop.signal])
  const late = abortLate(clock, stop, signal)
  try {
    await Promise.all(
      requests.map((request) =>
        slots.run(() => fetchArtifact(request, { stagingRoot, allowsFiles, signal })),
      ),
    )
  } catch (thrown) {
    stop.abort(thrown)
    throw thrown
  } finally {
    stop.abort()
    await late
  }
}

async function abortLate(clock: Clock, stop: AbortController, signal: AbortSignal): Promise<void> {
  const isLate = await pause(clock, AGENT_LIMITS.artifactMsMax, signal)
  if (isLate) stop.abort(new Error('it took too long'))
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
