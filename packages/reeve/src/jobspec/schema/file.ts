import { ChangeScript, TaskArtifact, Template, TemplateWait } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { setDefault, type RecordBuilder } from '../build/draft.ts'
import { bool, duration, int, one, mapBlock, string, stringMap, stringList } from './table.ts'

export const ARTIFACT = mapBlock(TaskArtifact, {
  attributes: {
    source: string(
      'GetterSource',
      'Required. Address: `https://`, `s3::https://`, `gcs::https://`, `git::` or `file://`. ' +
        'See [artifacts](../artifacts.md).',
    ),
    options: stringMap(
      'GetterOptions',
      'Options of the source, such as `checksum = "sha256:…"`, `ref`, `archive`.',
    ),
    headers: stringMap('GetterHeaders', 'HTTP headers of the request.'),
    mode: string(
      'GetterMode',
      '`any` unpacks archives and accepts files and directories; `file` and `dir` require one ' +
        'of them.',
    ),
    insecure: bool('GetterInsecure', 'Skips TLS verification.'),
    destination: string(
      'RelativeDest',
      'Directory or, with `mode = "file"`, file below the task directory.',
    ),
    chown: bool('Chown', 'Makes the user of the task the owner of the files.'),
  },
})

const CHANGE_SCRIPT = mapBlock(ChangeScript, {
  attributes: {
    command: string('Command', 'Required. Program to run in the task.'),
    args: stringList('Args', 'Arguments of the program.'),
    timeout: duration('Timeout', 'Time after which the script counts as failed.'),
    fail_on_error: bool('FailOnError', 'Fails the task when the script fails.'),
    run_on_first_render: bool('RunOnFirstRender', 'Runs the script after the first rendering too.'),
  },
  finish: fillChangeScript,
})

const WAIT = mapBlock(TemplateWait, {
  attributes: {
    min: duration('Min', 'Waits until the data have not changed for this long.'),
    max: duration('Max', 'Renders after this long at the latest.'),
  },
})

export const TEMPLATE = mapBlock(Template, {
  attributes: {
    source: string(
      'SourcePath',
      'File of the task directory that holds the template, for example one fetched by an ' +
        'artifact. `source` or `data` is required.',
    ),
    destination: string(
      'DestPath',
      'Required. File to write, relative to the task directory: `local/app.conf`, ' +
        '`secrets/db.env`.',
    ),
    data: string('EmbeddedTmpl', 'The template itself.'),
    change_mode: string(
      'ChangeMode',
      'Action when the rendered text changes: `restart`, `signal`, `script` or `noop`.',
    ),
    change_signal: string('ChangeSignal', 'Signal for `change_mode = "signal"`.'),
    once: bool('Once', 'Renders once and watches nothing.'),
    splay: duration('Splay', 'Upper bound of a random delay before the change takes effect.'),
    perms: string('Perms', 'Permissions of the file, octal.'),
    uid: int('Uid', 'User ID of the owner of the file.'),
    gid: int('Gid', 'Group ID of the owner of the file.'),
    left_delimiter: string('LeftDelim', 'Start of an action.'),
    right_delimiter: string('RightDelim', 'End of an action.'),
    env: bool(
      'Envvars',
      'Reads the rendered file as `KEY=value` lines into the environment of the task. Not with ' +
        '`change_mode = "signal"`.',
    ),
    error_on_missing_key: bool(
      'ErrMissingKey',
      'Fails the rendering when a map has no such key, instead of writing `<no value>`.',
    ),
  },
  blocks: { change_script: one('ChangeScript', CHANGE_SCRIPT), wait: one('Wait', WAIT) },
  finish: fillTemplate,
})

const FIVE_SECONDS_NS = nsFromMs(5_000)

/** Sets the defaults that apply at parse time; canonicalization sets the others. */
function fillTemplate(draft: RecordBuilder): void {
  setDefault(draft, 'ChangeMode', 'restart')
  setDefault(draft, 'Splay', FIVE_SECONDS_NS)
  setDefault(draft, 'Perms', '0644')
  setDefault(draft, 'ErrMissingKey', false)
}

function fillChangeScript(draft: RecordBuilder): void {
  setDefault(draft, 'Args', [])
  setDefault(draft, 'Timeout', FIVE_SECONDS_NS)
  setDefault(draft, 'FailOnError', false)
  setDefault(draft, 'RunOnFirstRender', false)
}
