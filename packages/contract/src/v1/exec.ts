import { Type } from 'typebox'
import { routes } from '../route.ts'
import { unreplicatedRead } from './define.ts'
import { Named, type Infer } from '../schema.ts'
import { Base64, textError } from './shared-schemas.ts'
import { FlagParameter } from './query.ts'

/** The version that the first frame must name. */
export const EXEC_HANDSHAKE_VERSION = 1

/** First frame when `ws_handshake=true`. */
export const ExecHandshake = Named('ExecHandshake', 'Authenticates the channel.', {
  version: Type.Integer(),
  auth_token: Type.String(),
})
export type ExecHandshake = Infer<typeof ExecHandshake>

const Chunk = Named('ExecChunk', 'Bytes of one stream, or its end.', {
  data: Type.Optional(Base64()),
  close: Type.Optional(Type.Boolean()),
})

export const TtySize = Named('TtySize', {
  height: Type.Integer({ description: 'In characters.' }),
  width: Type.Integer({ description: 'In characters.' }),
})
export type TtySize = Infer<typeof TtySize>

/** One member at a time; none is a heartbeat. */
export const ExecRequestFrame = Named('ExecRequestFrame', 'A frame from the caller.', {
  stdin: Type.Optional(Chunk),
  tty_size: Type.Optional(TtySize),
})
export type ExecRequestFrame = Infer<typeof ExecRequestFrame>

/** The exit code is always sent. */
export const ExecResponseFrame = Type.Object(
  {
    stdout: Type.Optional(Chunk),
    stderr: Type.Optional(Chunk),
    exited: Type.Optional(Type.Boolean()),
    result: Type.Optional(Type.Object({ exit_code: Type.Integer() })),
  },
  { $id: 'ExecResponseFrame', description: 'A frame from the service; `{}` is a heartbeat.' },
)
export type ExecResponseFrame = Infer<typeof ExecResponseFrame>

const tty = FlagParameter('Give the command a terminal.')
const responses = {
  101: { description: 'The channel is open. Refusals after this close it with 1008 or 1011.' },
  400: textError('`websocket upgrade required`'),
  403: textError('The page that opens the channel comes from another origin.'),
}

export const execRoutes = {
  ...routes('Allocations', {
    execAllocation: unreplicatedRead('/client/allocation/:alloc_id/exec', {
      summary: 'Run a command inside an allocation, over a WebSocket.',
      answeredBy: 'leader',
      audit: 'before',
      streams: true,
      query: {
        command: Type.String({ description: 'The command and its arguments, as a JSON array.' }),
        task: Type.String({ description: 'The task inside which it runs.' }),
        tty,
        ws_handshake: FlagParameter('The first frame carries the token.'),
      },
      answers: responses,
      needs:
        'namespace:alloc-exec; namespace:alloc-node-exec when the task uses the raw_exec driver',
    }),
  }),
  ...routes('Jobs', {
    runJobAction: unreplicatedRead('/job/:job_id/action', {
      summary: 'Run a named command of a job inside one of its allocations, over a WebSocket.',
      answeredBy: 'leader',
      audit: 'before',
      streams: true,
      query: {
        action: Type.String({ description: 'Name of the action.' }),
        task: Type.String({ description: 'The task that has the action.' }),
        allocID: Type.String({ description: 'The allocation in which it runs.' }),
        tty,
        ws_handshake: FlagParameter('The first frame carries the token.'),
      },
      answers: responses,
      needs:
        'namespace:alloc-exec; namespace:alloc-node-exec when the task uses the raw_exec driver',
    }),
  }),
}
