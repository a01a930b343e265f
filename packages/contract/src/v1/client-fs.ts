import { Type } from 'typebox'
import { routes } from '../route.ts'
import { ask } from './define.ts'
import { Named, Timestamp, type Shape } from '../shape.ts'
import { bytes, ok, refused, silent, TEXT_TYPE } from './answer.ts'
import { Base64 } from './identifier.ts'
import { Flag, Text, Whole } from './query.ts'

export const FileInfo = Named('FileInfo', {
  Name: Type.String({
    description:
      'In a name that is not UTF-8, `\\xNN` stands for a backslash or a byte past ASCII; paths may be given so.',
  }),
  IsDir: Type.Boolean(),
  Size: Type.Integer(),
  FileMode: Type.String({ description: 'Such as `drwxr-xr-x`.' }),
  ModTime: Timestamp(),
  ContentType: Type.Optional(Type.String()),
})
export type FileInfo = Shape<typeof FileInfo>

export const FILE_EVENTS = ['file deleted', 'file truncated'] as const
export type FileEvent = (typeof FILE_EVENTS)[number]

/**
 * Frames follow each other without a separator; empty members are left out; `{}` is a heartbeat.
 */
export const StreamFrame = Type.Object(
  {
    Offset: Type.Optional(Type.Integer({ description: 'In the file, after the data.' })),
    Data: Type.Optional(Base64()),
    File: Type.Optional(Type.String()),
    FileEvent: Type.Optional(Type.Enum(FILE_EVENTS)),
  },
  { $id: 'StreamFrame', description: 'A piece of a file or log that is followed.' },
)
export type StreamFrame = Shape<typeof StreamFrame>

export const STREAM_ORIGINS = ['start', 'end'] as const
export type StreamOrigin = (typeof STREAM_ORIGINS)[number]

export const LOG_TYPES = ['stdout', 'stderr'] as const
export type LogType = (typeof LOG_TYPES)[number]

const path = Type.String({ description: 'Path below the directory of the allocation.' })
const offset = Whole('Bytes from `origin` at which to begin.')
const origin = Type.Optional(
  Type.String({ description: '`start` or `end`: from where `offset` counts.', default: 'start' }),
)

const refusals = {
  400: refused('A parameter is missing or wrong, or the path is a directory.'),
  403: refused('`Permission denied`, or the path lies in a directory of secrets.'),
  404: refused('The allocation or the file is unknown, or the task has not started.'),
  504: silent,
}

export const clientFsRoutes = routes('Files and logs', {
  listFiles: ask('/client/fs/ls/:alloc_id', {
    summary: 'List a directory of an allocation.',
    answeredBy: 'leader',
    query: { path: Type.Optional(Type.String({ description: 'The directory.', default: '/' })) },
    returns: ok(
      Type.Array(FileInfo),
      'Its files by name, at most 10,000; `X-Service-Truncated: true` when there are more.',
    ),
    answers: { ...refusals },
    needs: 'namespace:read-fs',
  }),
  statFile: ask('/client/fs/stat/:alloc_id', {
    summary: 'Read what is known about a file of an allocation.',
    answeredBy: 'leader',
    query: { path },
    returns: ok(FileInfo, 'The file.'),
    answers: { ...refusals },
    needs: 'namespace:read-fs',
  }),
  readFile: ask('/client/fs/cat/:alloc_id', {
    summary: 'Read a file of an allocation.',
    answeredBy: 'leader',
    query: { path },
    returns: bytes('The bytes of the file.'),
    answers: { ...refusals },
    needs: 'namespace:read-fs',
  }),
  readFileAt: ask('/client/fs/readat/:alloc_id', {
    summary: 'Read a part of a file of an allocation.',
    answeredBy: 'leader',
    query: {
      path,
      offset: Type.Integer({ description: 'The first byte.', minimum: 0 }),
      limit: Type.Optional(Type.Integer({ description: 'At most this many bytes.', minimum: 0 })),
    },
    returns: bytes('The bytes.'),
    answers: { ...refusals },
    needs: 'namespace:read-fs',
  }),
  streamFile: ask('/client/fs/stream/:alloc_id', {
    summary: 'Follow a file of an allocation.',
    answeredBy: 'leader',
    streams: true,
    query: { path, offset, origin, follow: Flag('Stay until the caller leaves.', true) },
    returns: ok(StreamFrame, 'Frames, one after the other.'),
    answers: { ...refusals },
    needs: 'namespace:read-fs',
  }),
  streamLogs: ask('/client/fs/logs/:alloc_id', {
    summary: 'Read or follow the output of a task.',
    answeredBy: 'leader',
    streams: true,
    query: {
      task: Type.String({ description: 'The task.' }),
      type: Type.String({ description: '`stdout` or `stderr`.' }),
      offset,
      origin,
      follow: Flag('Stay until the caller leaves.'),
      plain: Flag('Only the bytes, as text, without frames.'),
    },
    returns: ok(StreamFrame, 'Frames, or text with `plain=true`.'),
    answers: { ...refusals },
    needs: 'namespace:read-logs or namespace:read-fs',
  }),
  streamJobLogs: ask('/job/:job_id/logs', {
    summary: 'Read or follow the output of all allocations of a job, line by line.',
    answeredBy: 'leader',
    streams: true,
    query: {
      task: Text('Only this task; all of them when empty.'),
      type: Text('`stdout` or `stderr`; both when empty.'),
      offset,
      origin,
      follow: Flag('Stay until the job has ended, also for allocations that are yet to come.'),
      prefix: Flag('Begin each line with the short id of the allocation and the task.'),
    },
    returns: {
      description: 'Whole lines, those of one allocation in their order.',
      schema: Type.String(),
      contentType: TEXT_TYPE,
    },
    answers: { 504: silent },
    errors: { 400: 'A parameter is wrong.', 404: '`job not found`' },
    needs: 'namespace:read-logs or namespace:read-fs',
  }),
})
