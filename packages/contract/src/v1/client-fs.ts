import * as t from './shared-schemas.ts'
import { nodeRead, routes } from './define.ts'

export const FileInfo = t.Named('FileInfo', {
  Name: t.String({
    description:
      'In a name that is not UTF-8, `\\xNN` stands for a backslash or a byte past ASCII; paths may be given so.',
  }),
  IsDir: t.Boolean(),
  Size: t.Integer(),
  FileMode: t.String({ description: 'Such as `drwxr-xr-x`.' }),
  ModTime: t.Timestamp(),
  ContentType: t.Optional(t.String()),
})
export type FileInfo = t.Infer<typeof FileInfo>

export const FILE_EVENTS = ['file deleted', 'file truncated'] as const
export type FileEvent = (typeof FILE_EVENTS)[number]

/**
 * Frames follow each other without a separator; empty members are left out; `{}` is a heartbeat.
 */
export const StreamFrame = t.Named('StreamFrame', 'A piece of a file or log that is followed.', {
  Offset: t.Optional(t.Integer({ description: 'In the file, after the data.' })),
  Data: t.Optional(t.Base64()),
  File: t.Optional(t.String()),
  FileEvent: t.Optional(t.Enum(FILE_EVENTS)),
})
export type StreamFrame = t.Infer<typeof StreamFrame>

export const STREAM_ORIGINS = ['start', 'end'] as const
export type StreamOrigin = (typeof STREAM_ORIGINS)[number]

export const LOG_TYPES = ['stdout', 'stderr'] as const
export type LogType = (typeof LOG_TYPES)[number]

const path = t.String({ description: 'Path below the directory of the allocation.' })
const offset = t.IntegerParameter('Bytes from `origin` at which to begin.')
const origin = t.Optional(
  t.String({ description: '`start` or `end`: from where `offset` counts.', default: 'start' }),
)

const errors = {
  400: t.textError('A parameter is missing or wrong, or the path is a directory.'),
  403: t.textError('`Permission denied`, or the path lies in a directory of secrets.'),
  404: t.textError('The allocation or the file is unknown, or the task has not started.'),
  504: t.nodeTimeout,
}

export const clientFsRoutes = routes('Files and logs', {
  listFiles: nodeRead('/client/fs/ls/:alloc_id', {
    summary: 'List a directory of an allocation.',
    query: { path: t.Optional(t.String({ description: 'The directory.', default: '/' })) },
    returns: t.jsonResponse(
      t.Array(FileInfo),
      'Its files by name, at most 10,000; `X-Service-Truncated: true` when there are more.',
    ),
    answers: { ...errors },
    needs: 'namespace:read-fs',
  }),
  statFile: nodeRead('/client/fs/stat/:alloc_id', {
    summary: 'Read what is known about a file of an allocation.',
    query: { path },
    returns: t.jsonResponse(FileInfo, 'The file.'),
    answers: { ...errors },
    needs: 'namespace:read-fs',
  }),
  readFile: nodeRead('/client/fs/cat/:alloc_id', {
    summary: 'Read a file of an allocation.',
    query: { path },
    returns: t.binaryResponse('The bytes of the file.'),
    answers: { ...errors },
    needs: 'namespace:read-fs',
  }),
  readFileAt: nodeRead('/client/fs/readat/:alloc_id', {
    summary: 'Read a part of a file of an allocation.',
    query: {
      path,
      offset: t.Integer({ description: 'The first byte.', minimum: 0 }),
      limit: t.Optional(t.Integer({ description: 'At most this many bytes.', minimum: 0 })),
    },
    returns: t.binaryResponse('The bytes.'),
    answers: { ...errors },
    needs: 'namespace:read-fs',
  }),
  streamFile: nodeRead('/client/fs/stream/:alloc_id', {
    summary: 'Follow a file of an allocation.',
    streams: true,
    query: { path, offset, origin, follow: t.FlagParameter('Stay until the caller leaves.', true) },
    returns: t.jsonResponse(StreamFrame, 'Frames, one after the other.'),
    answers: { ...errors },
    needs: 'namespace:read-fs',
  }),
  streamLogs: nodeRead('/client/fs/logs/:alloc_id', {
    summary: 'Read or follow the output of a task.',
    streams: true,
    query: {
      task: t.String({ description: 'The task.' }),
      type: t.String({ description: '`stdout` or `stderr`.' }),
      offset,
      origin,
      follow: t.FlagParameter('Stay until the caller leaves.'),
      plain: t.FlagParameter('Only the bytes, as text, without frames.'),
    },
    returns: t.jsonResponse(StreamFrame, 'Frames, or text with `plain=true`.'),
    answers: { ...errors },
    needs: 'namespace:read-logs or namespace:read-fs',
  }),
  streamJobLogs: nodeRead('/job/:job_id/logs', {
    summary: 'Read or follow the output of all allocations of a job, line by line.',
    streams: true,
    query: {
      task: t.TextParameter('Only this task; all of them when empty.'),
      type: t.TextParameter('`stdout` or `stderr`; both when empty.'),
      offset,
      origin,
      follow: t.FlagParameter(
        'Stay until the job has ended, also for allocations that are yet to come.',
      ),
      prefix: t.FlagParameter('Begin each line with the short id of the allocation and the task.'),
    },
    returns: {
      description: 'Whole lines, those of one allocation in their order.',
      schema: t.String(),
      contentType: t.TEXT_TYPE,
    },
    answers: { 504: t.nodeTimeout },
    errors: { 400: 'A parameter is wrong.' },
    needs: 'namespace:read-logs or namespace:read-fs',
  }),
})
