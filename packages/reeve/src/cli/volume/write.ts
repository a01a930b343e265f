import type { HostVolume, HostVolumeInput } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { callFor } from './find-volume.ts'
import { readVolumeFile } from './read-volume-file.ts'

type Write = (invocation: Invocation, volume: HostVolumeInput) => Promise<HostVolume>

export async function runVolumeCreate(invocation: Invocation): Promise<number> {
  return await writeVolume(invocation, 'created', async ({ client }, Volume) => {
    const { data } = await client.v1.createHostVolume({ body: { Volume } })
    return data.Volume
  })
}

export async function runVolumeRegister(invocation: Invocation): Promise<number> {
  return await writeVolume(invocation, 'registered', async ({ client }, Volume) => {
    const { data } = await client.v1.registerHostVolume({ body: { Volume } })
    return data.Volume
  })
}

async function writeVolume(
  invocation: Invocation,
  done: 'created' | 'registered',
  write: Write,
): Promise<number> {
  const { args, flags, output } = invocation
  const input = await readVolumeFile(invocation, args[0] ?? '')
  const written = await write(invocation, input)
  const verb = input.ID ? 'updated' : done
  output.say(`Volume "${written.Name}" (${shortId(written.ID)}) is ${verb}: ${whereOf(written)}.`)
  const volume = flags.has('detach') ? written : await readyVolume(invocation, written)
  output.show(volume, () =>
    volume.State === 'ready' ? `Jobs in namespace "${volume.Namespace}" can mount it.` : '',
  )
  return EXIT_CODES.ok
}

function whereOf({ HostPath, NodeID }: HostVolume): string {
  return `${HostPath} on node ${shortId(NodeID)}`
}

/** A node reports a new volume with its next update, within seconds. */
const READY_MS_MAX = 60_000

/** The volume once its node reports it; until then no job can mount it. */
async function readyVolume(invocation: Invocation, written: HostVolume): Promise<HostVolume> {
  if (written.State === 'ready') return written
  const { client, signal } = invocation
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(READY_MS_MAX)])
  const request = { ...callFor(written), signal: deadline }
  try {
    for await (const { data } of client.blocking('readHostVolume', request))
      if (data.State === 'ready') return data
  } catch (thrown) {
    if (signal.aborted || !deadline.aborted) throw thrown
  }
  throw new CommandFailure(
    `Node ${shortId(written.NodeID)} has not reported the volume within ${READY_MS_MAX / 1000} s.`,
    { hint: `"reeve volume show ${shortId(written.ID)}" shows its state.` },
  )
}
