import * as t from './shared-schemas.ts'
import { nodeRead, routes } from './define.ts'

/** The version that the first frame must name. */
export const EXEC_HANDSHAKE_VERSION = 1

/** First frame when `ws_handshake=true`. */
export const ExecHandshake = t.Named('ExecHandshake', 'Authenticates the channel.', {
  version: t.Integer(),
  auth_token: t.String(),
})
export type ExecHandshake = t.Infer<typeof ExecHandshake>

const Chunk = t.Named('ExecChunk', 'Bytes of one stream, or its end.', {
  data: t.Optional(t.Base64()),
  close: t.Optional(t.Boolean()),
})

export const TtySize = t.Named('TtySize', {
  height: t.Integer({ description: 'In characters.' }),
  width: t.Integer({ description: 'In characters.' }),
})
export type TtySize = t.Infer<typeof TtySize>

/** One member at a time; none is a heartbeat. */
export const ExecRequestFrame = t.Named('ExecRequestFrame', 'A frame from the caller.', {
  stdin: t.Optional(Chunk),
  tty_size: t.Optional(TtySize),
})
export type ExecRequestFrame = t.Infer<typeof ExecRequestFrame>

/** The exit code is always sent. */
export const ExecResponseFrame = t.Object(
  {
    stdout: t.Optional(Chunk),
    stderr: t.Optional(Chunk),
    exited: t.Optional(t.Boolean()),
    result: t.Optional(t.Object({ exit_code: t.Integer() })),
  },
  { $id: 'ExecResponseFrame', description: 'A frame from the service; `{}` is a heartbeat.' },
)
export type ExecResponseFrame = t.Infer<typeof ExecResponseFrame>

const tty = t.FlagParameter('Give the command a terminal.')
const responses = {
  101: { description: 'The channel is open. Refusals after this close it with 1008 or 1011.' },
  400: t.textError('`websocket upgrade required`'),
  403: t.textError('The page that opens the channel comes from another origin.'),
}

export const execRoutes = {
  ...routes('Allocations', {
    execAllocation: nodeRead('/client/allocation/:alloc_id/exec', {
      summary: 'Run a command inside an allocation, over a WebSocket.',
      audit: 'before',
      streams: true,
      query: {
        command: t.String({ description: 'The command and its arguments, as a JSON array.' }),
        task: t.String({ description: 'The task inside which it runs.' }),
        tty,
        ws_handshake: t.FlagParameter('The first frame carries the token.'),
      },
      answers: responses,
      acceptsUnknown: true,
      needs:
        'namespace:alloc-exec; namespace:alloc-node-exec when the task uses the raw_exec driver',
    }),
  }),
  ...routes('Jobs', {
    runJobAction: nodeRead('/job/:job_id/action', {
      summary: 'Run a named command of a job inside one of its allocations, over a WebSocket.',
      audit: 'before',
      streams: true,
      query: {
        action: t.String({ description: 'Name of the action.' }),
        task: t.String({ description: 'The task that has the action.' }),
        allocID: t.String({ description: 'The allocation in which it runs.' }),
        tty,
        ws_handshake: t.FlagParameter('The first frame carries the token.'),
      },
      answers: responses,
      acceptsUnknown: true,
      needs:
        'namespace:alloc-exec; namespace:alloc-node-exec when the task uses the raw_exec driver',
    }),
  }),
}
