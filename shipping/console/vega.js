// The part of vega that drawing a Vega-Lite chart needs. The build uses this module wherever
// `vega` is imported: maps, forces, trees, word clouds, contours and the loader of files stay
// out.

import {transforms} from 'vega-dataflow';
import * as encoders from 'vega-encode';
import * as labels from 'vega-label';
import * as transformsOfData from 'vega-transforms';
import {extend} from 'vega-util';
import * as transformsOfViews from 'vega-view-transforms';

extend(transforms, transformsOfData, transformsOfViews, encoders, labels);

export {parse} from 'vega-parser';
export {Warn, hasOwnProperty, isObject, isString, logger, stringValue} from 'vega-util';
export {View} from 'vega-view';
