import { ChangeScript, TaskArtifact, Template, TemplateWait } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { fallBack, type Draft } from '../build/draft.ts'
import { bool, duration, int, one, tableOf, text, textMap, texts } from './table.ts'

export const ARTIFACT = tableOf(TaskArtifact, {
  attributes: {
    source: text(
      'GetterSource',
      'Required. Address: `https://`, `s3::https://`, `gcs::https://`, `git::` or `file://`. ' +
        'See [artifacts](../artifacts.md).',
    ),
    options: textMap(
      'GetterOptions',
      'Options of the source, such as `checksum = "sha256:…"`, `ref`, `archive`.',
    ),
    headers: textMap('GetterHeaders', 'HTTP headers of the request.'),
    mode: text(
      'GetterMode',
      '`any` unpacks archives and accepts files and directories; `file` and `dir` require one ' +
        'of them.',
    ),
    insecure: bool('GetterInsecure', 'Skips TLS verification.'),
    destination: text(
      'RelativeDest',
      'Directory or, with `mode = "file"`, file below the task directory.',
    ),
    chown: bool('Chown', 'Makes the user of the task the owner of the files.'),
  },
})

const CHANGE_SCRIPT = tableOf(ChangeScript, {
  attributes: {
    command: text('Command', 'Required. Program to run in the task.'),
    args: texts('Args', 'Arguments of the program.'),
    timeout: duration('Timeout', 'Time after which the script counts as failed.'),
    fail_on_error: bool('FailOnError', 'Fails the task when the script fails.'),
    run_on_first_render: bool('RunOnFirstRender', 'Runs the script after the first rendering too.'),
  },
  finish: fillChangeScript,
})

const WAIT = tableOf(TemplateWait, {
  attributes: {
    min: duration('Min', 'Waits until the data have not changed for this long.'),
    max: duration('Max', 'Renders after this long at the latest.'),
  },
})

export const TEMPLATE = tableOf(Template, {
  attributes: {
    source: text(
      'SourcePath',
      'File of the task directory that holds the template, for example one fetched by an ' +
        'artifact. `source` or `data` is required.',
    ),
    destination: text(
      'DestPath',
      'Required. File to write, relative to the task directory: `local/app.conf`, ' +
        '`secrets/db.env`.',
    ),
    data: text('EmbeddedTmpl', 'The template itself.'),
    change_mode: text(
      'ChangeMode',
      'Action when the rendered text changes: `restart`, `signal`, `script` or `noop`.',
    ),
    change_signal: text('ChangeSignal', 'Signal for `change_mode = "signal"`.'),
    once: bool('Once', 'Renders once and watches nothing.'),
    splay: duration('Splay', 'Upper bound of a random delay before the change takes effect.'),
    perms: text('Perms', 'Permissions of the file, octal.'),
    uid: int('Uid', 'User ID of the owner of the file.'),
    gid: int('Gid', 'Group ID of the owner of the file.'),
    left_delimiter: text('LeftDelim', 'Start of an action.'),
    right_delimiter: text('RightDelim', 'End of an action.'),
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
function fillTemplate(draft: Draft): void {
  fallBack(draft, 'ChangeMode', 'restart')
  fallBack(draft, 'Splay', FIVE_SECONDS_NS)
  fallBack(draft, 'Perms', '0644')
  fallBack(draft, 'ErrMissingKey', false)
}

function fillChangeScript(draft: Draft): void {
  fallBack(draft, 'Args', [])
  fallBack(draft, 'Timeout', FIVE_SECONDS_NS)
  fallBack(draft, 'FailOnError', false)
  fallBack(draft, 'RunOnFirstRender', false)
}
