import type { HostVolume, HostVolumeInput } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { shortenId } from '../output/table.ts'
import { volumeRequest } from './find-volume.ts'
import { readVolumeFile } from './read-volume-file.ts'

type Write = (invocation: CommandContext, volume: HostVolumeInput) => Promise<HostVolume>

export async function runVolumeCreate(invocation: CommandContext): Promise<number> {
  return await writeVolume(invocation, 'created', async ({ client }, Volume) => {
    const { data } = await client.v1.createHostVolume({ body: { Volume } })
    return data.Volume
  })
}

export async function runVolumeRegister(invocation: CommandContext): Promise<number> {
  return await writeVolume(invocation, 'registered', async ({ client }, Volume) => {
    const { data } = await client.v1.registerHostVolume({ body: { Volume } })
    return data.Volume
  })
}

async function writeVolume(
  invocation: CommandContext,
  done: 'created' | 'registered',
  write: Write,
): Promise<number> {
  const { args, flags, output } = invocation
  const input = await readVolumeFile(invocation, args[0] ?? '')
  const written = await write(invocation, input)
  const verb = input.ID ? 'updated' : done
  output.printLine(
    `Volume "${written.Name}" (${shortenId(written.ID)}) is ${verb}: ${formatLocation(written)}.`,
  )
  const volume = flags.has('detach') ? written : await waitUntilReady(invocation, written)
  output.print(volume, () =>
    volume.State === 'ready' ? `Jobs in namespace "${volume.Namespace}" can mount it.` : '',
  )
  return EXIT_CODES.ok
}

function formatLocation({ HostPath, NodeID }: HostVolume): string {
  return `${HostPath} on node ${shortenId(NodeID)}`
}

/** A node reports a new volume with its next update, within seconds. */
const READY_TIMEOUT_MS = 60_000

/** The volume once its node reports it; until then no job can mount it. */
async function waitUntilReady(
  invocation: CommandContext,
  written: HostVolume,
): Promise<HostVolume> {
  if (written.State === 'ready') return written
  const { client, signal } = invocation
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(READY_TIMEOUT_MS)])
  const request = { ...volumeRequest(written), signal: deadline }
  try {
    for await (const { data } of client.blocking('readHostVolume', request))
      if (data.State === 'ready') return data
  } catch (thrown) {
    if (signal.aborted || !deadline.aborted) throw thrown
  }
  throw new CommandError(
    `Node ${shortenId(written.NodeID)} has not reported the volume within ${READY_TIMEOUT_MS / 1000} s.`,
    { hint: `"reeve volume show ${shortenId(written.ID)}" shows its state.` },
  )
}
